//! How the API's own document describes the documents that have fields of a link.

use std::borrow::Cow;
use std::collections::BTreeMap;

use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{RefOr, Required, Schema};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use super::documents::{Document, LinkQuery};
use super::fields::{DocumentKind, LinkFields};
use super::link::ViewWord;

/// How a document is described.
struct Description {
    name: &'static str,
    text: &'static str,
    needs_target: bool,
    /// What it says of fields, where that is not what [`LinkFields`] says.
    says: &'static [(&'static str, &'static str)],
    /// Changes the description of a field, where it is not of the form that [`LinkFields`] gives it.
    adapt: fn(&str, &mut RefOr<Schema>),
}

/// In the order of [`DocumentKind::OF_API`].
static DESCRIPTIONS: [Description; 4] = [
    Description {
        name: "LinkQuery",
        says: &[
            ("target_url", TARGET_IN_QUERY),
            (
                "tags",
                "Up to 20 words of up to 50 characters, with commas between.",
            ),
            ("view", "`full`: the response has all fields of the link."),
        ],
        adapt: |field, schema| match (field, &mut *schema) {
            ("target_url", RefOr::T(Schema::Object(target))) => {
                target.pattern = Some(r"^[Hh][Tt][Tt][Pp][Ss]?://[^/?#\\@]+([/?#]|$)".to_owned());
            }
            ("tags", _) => *schema = ObjectBuilder::new().schema_type(Type::String).into(),
            ("view", _) => *schema = ViewWord::schema(),
            _ => {}
        },
        ..NEW
    },
    NEW,
    Description {
        name: "BulkObject",
        text: "A new link among many: also as an export has it.",
        says: &[
            (
                "target_url",
                "Absolute `http` or `https` URL; the rules of a single link hold. It may have letters beyond ASCII, as in an export.",
            ),
            (
                "expires_at",
                "The moment from which the link is not followed any more: in the future, unless `created_at` shows an exported link.",
            ),
        ],
        adapt: |field, schema| {
            // Letters beyond ASCII are in no URI.
            if let ("target_url", RefOr::T(Schema::Object(target))) = (field, schema) {
                target.format = None;
            }
        },
        ..NEW
    },
    Description {
        name: "LinkPatch",
        text: "What changes; all other fields stay as they are. `null` takes a value away.",
        needs_target: false,
        says: &[
            (
                "target_url",
                "Another target; the rules of a new link hold.",
            ),
            (
                "expires_at",
                "RFC 3339 with a zone. A moment in the past ends the link now.",
            ),
            (
                "max_clicks",
                "Redirects that are answered in all, those up to now included.",
            ),
            ("tags", "All tags that the link has afterwards."),
            ("is_active", "Whether the link is followed."),
        ],
        adapt: |field, schema| match (field, schema) {
            ("target_url", RefOr::T(Schema::Object(target))) => target.example = None,
            ("is_active", RefOr::T(Schema::Object(flag))) => {
                flag.schema_type = Type::Boolean.into();
            }
            _ => {}
        },
    },
];

const NEW: Description = Description {
    name: "LinkObject",
    text: "The new link, where its parameters are not in the query.",
    needs_target: true,
    says: &[("target_url", "As the query parameter.")],
    adapt: |_, _| {},
};

const TARGET_IN_QUERY: &str =
    "Absolute `http` or `https` URL of at most 2048 bytes, percent-encoded as every parameter: without
control characters, without user name or password, and not on this service's own host. It is stored
and returned exactly as given. Required, here or in the body.";

/// The fields of a document, as the API's own document describes them.
fn properties(document: usize) -> impl Iterator<Item = (&'static str, RefOr<Schema>)> {
    let of = &DESCRIPTIONS[document];
    let mut all = match LinkFields::schema() {
        RefOr::T(Schema::Object(object)) => object.properties,
        _ => BTreeMap::new(),
    };
    let fields = DocumentKind::OF_API[document].fields();
    fields.filter_map(move |field| {
        let name = field.name;
        let mut schema = all.remove(name)?;
        (of.adapt)(name, &mut schema);
        let description = match &mut schema {
            RefOr::T(Schema::Object(object)) => Some(&mut object.description),
            RefOr::T(Schema::Array(array)) => Some(&mut array.description),
            _ => None,
        };
        let says = of.says.iter().find(|(field, _)| *field == name);
        if let (Some(description), Some((_, text))) = (description, says) {
            *description = Some((*text).to_owned());
        }
        Some((name, schema))
    })
}

impl<const KIND: usize> PartialSchema for Document<KIND> {
    fn schema() -> RefOr<Schema> {
        let of = &DESCRIPTIONS[KIND];
        let object = ObjectBuilder::new()
            .description(Some(of.text))
            .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)));
        let object = properties(KIND).fold(object, |object, (name, schema)| {
            object.property(name, schema)
        });
        if of.needs_target {
            object.required("target_url").into()
        } else {
            object.into()
        }
    }
}

impl<const KIND: usize> ToSchema for Document<KIND> {
    fn name() -> Cow<'static, str> {
        DESCRIPTIONS[KIND].name.into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        LinkFields::schemas(schemas);
    }
}

impl IntoParams for LinkQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let parameter = |(name, mut schema): (_, RefOr<Schema>)| {
            let mut parameter = ParameterBuilder::new()
                .name(name)
                .parameter_in(ParameterIn::Query)
                .required(Required::False);
            if let RefOr::T(Schema::Object(object)) = &mut schema {
                if let SchemaType::Array(types) = &object.schema_type {
                    object.schema_type = types[0].clone().into();
                }
                parameter = parameter
                    .description(object.description.take())
                    .example(object.example.take());
            }
            parameter.schema(Some(schema)).build()
        };
        let query = DocumentKind::Query as usize;
        properties(query).map(parameter).collect()
    }
}
