//! The documents of the API that have fields of a link: which fields each has, and what it says otherwise of some.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, Visitor};
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{RefOr, Required, Schema};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use super::fields::LinkFields;
use super::link::ViewWord;
use crate::domain::FieldEdit;

/// What every document may say of a link, whether it makes the link or changes it.
const SHARED: [&str; 5] = ["expires_at", "max_clicks", "title", "tags", "forward_query"];

/// The fields of a form of the pages.
pub const FORM_FIELDS: [&str; 8] = {
    let [end, max, title, tags, query] = SHARED;
    [
        "target_url",
        "custom_code",
        end,
        max,
        title,
        tags,
        query,
        "is_active",
    ]
};

/// A document of the API.
struct Kind {
    name: &'static str,
    description: &'static str,
    /// Its fields before and after the fields that all documents have.
    before: &'static [&'static str],
    after: &'static [&'static str],
    needs_target: bool,
    /// What it says of fields, where that is not what [`LinkFields`] says.
    says: &'static [(&'static str, &'static str)],
    /// Changes the description of a field, where it is not of the form that [`LinkFields`] gives it.
    adapt: fn(&str, &mut RefOr<Schema>),
}

/// A document of the kind with this place in [`KINDS`]: it refuses the fields of other kinds.
#[derive(Debug)]
pub struct Document<const KIND: usize, T = LinkFields>(pub T);

/// The new link in a query, where each value is a text.
pub type LinkQuery = Document<0, HashMap<String, String>>;
/// The new link, where its parameters are not in the query.
pub type LinkObject = Document<1>;
/// A new link among many: also as an export has it.
pub type BulkObject = Document<2>;
/// A change of a link: a merge patch (RFC 7396).
pub type LinkPatch = Document<3>;

static KINDS: [Kind; 4] = [
    Kind {
        name: "LinkQuery",
        needs_target: false,
        says: &[
            ("target_url", TARGET_IN_QUERY),
            ("title", "A name for you, of up to 200 characters."),
            (
                "tags",
                "Up to 20 words of up to 50 characters, with commas between.",
            ),
            ("forward_query", FORWARD_QUERY_IN_QUERY),
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
    Kind {
        name: "BulkObject",
        description: "A new link among many: also as an export has it.",
        after: &[
            "is_active",
            "clicks",
            "short_code",
            "created_at",
            "id",
            "short_url",
            "status",
            "updated_at",
        ],
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
    Kind {
        name: "LinkPatch",
        description: "What changes; all other fields stay as they are. `null` takes a value away.",
        before: &["target_url", "is_active"],
        after: &[],
        needs_target: false,
        says: &[
            (
                "target_url",
                "Another target; the rules of a new link hold.",
            ),
            ("is_active", "Whether the link is followed."),
            (
                "expires_at",
                "RFC 3339 with a zone. A moment in the past ends the link now.",
            ),
            (
                "max_clicks",
                "Redirects that are answered in all, those up to now included.",
            ),
            ("tags", "All tags that the link has afterwards."),
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

const NEW: Kind = Kind {
    name: "LinkObject",
    description: "The new link, where its parameters are not in the query.",
    before: &["target_url", "custom_code"],
    after: &["view"],
    needs_target: true,
    says: &[("target_url", "As the query parameter.")],
    adapt: |_, _| {},
};

const TARGET_IN_QUERY: &str =
    "Absolute `http` or `https` URL of at most 2048 bytes, percent-encoded as every parameter: without
control characters, without user name or password, and not on this service's own host. It is stored
and returned exactly as given. Required, here or in the body.";

const FORWARD_QUERY_IN_QUERY: &str =
    "Whether a visitor's query is added to that of the target; if both have a parameter of the same name, the visitor's value
is used. A visit whose `Location` would be longer than 8192 bytes is answered 414, and one whose `Location` would be a URL that
the service refuses is answered 410.";

impl Kind {
    /// The names of all its fields.
    fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        let fields = self.before.iter().chain(&SHARED).chain(self.after);
        fields.copied()
    }

    /// Its fields, as the API's own document describes them.
    fn properties(&'static self) -> impl Iterator<Item = (&'static str, RefOr<Schema>)> {
        let mut all = match LinkFields::schema() {
            RefOr::T(Schema::Object(object)) => object.properties,
            _ => BTreeMap::new(),
        };
        self.names().filter_map(move |name| {
            let mut schema = all.remove(name)?;
            (self.adapt)(name, &mut schema);
            let description = match &mut schema {
                RefOr::T(Schema::Object(object)) => Some(&mut object.description),
                RefOr::T(Schema::Array(array)) => Some(&mut array.description),
                _ => None,
            };
            let says = self.says.iter().find(|(field, _)| *field == name);
            if let (Some(description), Some((_, text))) = (description, says) {
                *description = Some((*text).to_owned());
            }
            Some((name, schema))
        })
    }
}

impl<const KIND: usize> PartialSchema for Document<KIND> {
    fn schema() -> RefOr<Schema> {
        let kind = &KINDS[KIND];
        let object = ObjectBuilder::new()
            .description(Some(kind.description))
            .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)));
        let object = kind.properties().fold(object, |object, (name, schema)| {
            object.property(name, schema)
        });
        if kind.needs_target {
            object.required("target_url").into()
        } else {
            object.into()
        }
    }
}

impl<const KIND: usize> ToSchema for Document<KIND> {
    fn name() -> Cow<'static, str> {
        KINDS[KIND].name.into()
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
        KINDS[0].properties().map(parameter).collect()
    }
}

impl<'de, const KIND: usize, T: Deserialize<'de>> Deserialize<'de> for Document<KIND, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields<const KIND: usize, T>(PhantomData<T>);

        impl<'de, const KIND: usize, T: Deserialize<'de>> Visitor<'de> for Fields<KIND, T> {
            type Value = Document<KIND, T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Self::Value, M::Error> {
                let names = KINDS[KIND].names().map(|name| (name, false)).collect();
                T::deserialize(MapAccessDeserializer::new(Known { map, names })).map(Document)
            }
        }

        deserializer.deserialize_map(Fields(PhantomData))
    }
}

/// Fields of which each has one of these names, and no other field has it: serde knows only all names of [`LinkFields`].
struct Known<M> {
    map: M,
    /// Whether there was such a field.
    names: Vec<(&'static str, bool)>,
}

impl<'de, M: MapAccess<'de>> MapAccess<'de> for Known<M> {
    type Error = M::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, M::Error> {
        let Some(name) = self.map.next_key::<String>()? else {
            return Ok(None);
        };
        // The sentences are serde's own.
        match self.names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, true)) => Err(Error::custom(format_args!("duplicate field `{name}`"))),
            Some((name, was_there)) => {
                *was_there = true;
                seed.deserialize(name.into_deserializer()).map(Some)
            }
            None => {
                let names: Vec<_> = self.names.iter().map(|(name, _)| *name).collect();
                let names = names.join("`, `");
                let sentence = format!("unknown field `{name}`, expected one of `{names}`");
                Err(Error::custom(sentence))
            }
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, M::Error> {
        self.map.next_value_seed(seed)
    }
}

impl LinkQuery {
    /// Whether there is any parameter of the link itself.
    #[must_use]
    pub fn has_link(&self) -> bool {
        self.0.keys().any(|name| name != "view")
    }

    /// The fields.
    ///
    /// # Errors
    /// A sentence that begins with the name of a parameter.
    pub fn fields(self) -> Result<LinkFields, String> {
        let Self(mut texts) = self;
        if !texts.contains_key("target_url") {
            return Err("target_url: query parameter is required".to_owned());
        }
        LinkFields::of_texts(|name| FieldEdit::set_if(texts.remove(name)))
    }
}
