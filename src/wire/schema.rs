//! The OpenAPI schemas of the documents that have fields of a link.

use std::borrow::Cow;
use std::collections::BTreeMap;

use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{RefOr, Required, Schema};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use super::documents::{Document, LinkQuery};
use super::fields::{DocumentKind, LinkFields};
use super::link::ViewWord;

/// The name of a document, and what it is.
fn description(document: DocumentKind) -> (&'static str, &'static str) {
    match document {
        DocumentKind::Bulk => (
            "BulkObject",
            "A new link among many: also as an export has it.",
        ),
        DocumentKind::Patch => (
            "LinkPatch",
            "What changes; all other fields stay as they are. `null` takes a value away.",
        ),
        _ => (
            "LinkObject",
            "The new link, if its parameters are not in the query.",
        ),
    }
}

/// The fields of a document.
fn properties(document: DocumentKind) -> impl Iterator<Item = (&'static str, RefOr<Schema>)> {
    let mut all = match LinkFields::schema() {
        RefOr::T(Schema::Object(object)) => object.properties,
        _ => BTreeMap::new(),
    };
    document.fields().filter_map(move |field| {
        let mut schema = all.remove(field.name)?;
        adapt(document, field.name, &mut schema);
        Some((field.name, schema))
    })
}

/// Changes the schema of a field where a document has another form than [`LinkFields`].
fn adapt(document: DocumentKind, field: &str, schema: &mut RefOr<Schema>) {
    match (document, field, schema) {
        (DocumentKind::Query, "target_url", RefOr::T(Schema::Object(target))) => {
            target.pattern = Some(r"^[Hh][Tt][Tt][Pp][Ss]?://[^/?#\\@]+([/?#]|$)".to_owned());
        }
        (DocumentKind::Query, "tags" | "aliases" | "rules", RefOr::T(schema)) => {
            let description = match schema {
                Schema::Array(tags) => tags.description.take(),
                _ => None,
            };
            let text = ObjectBuilder::new().schema_type(Type::String);
            *schema = text.description(description).into();
        }
        (DocumentKind::Query, "view", schema) => {
            *schema = ViewWord::schema();
            if let RefOr::T(Schema::Object(view)) = schema {
                view.description = Some("`full`: the response has all fields of the link.".into());
            }
        }
        // Letters beyond ASCII, which an export may have, are in no URI.
        (DocumentKind::Bulk, "target_url" | "fallback_url", RefOr::T(Schema::Object(target))) => {
            target.format = None;
        }
        (DocumentKind::Patch, "is_active", RefOr::T(Schema::Object(flag))) => {
            flag.schema_type = Type::Boolean.into();
        }
        _ => {}
    }
}

impl<const KIND: usize> PartialSchema for Document<KIND> {
    fn schema() -> RefOr<Schema> {
        let (_, text) = description(Self::KIND);
        let object = ObjectBuilder::new()
            .description(Some(text))
            .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)));
        let object = properties(Self::KIND).fold(object, |object, (name, schema)| {
            object.property(name, schema)
        });
        match Self::KIND {
            DocumentKind::Patch => object.into(),
            _ => object.required("target_url").into(),
        }
    }
}

impl<const KIND: usize> ToSchema for Document<KIND> {
    fn name() -> Cow<'static, str> {
        description(Self::KIND).0.into()
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
        properties(DocumentKind::Query).map(parameter).collect()
    }
}
