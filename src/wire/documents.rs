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

/// What is particular to a document.
#[derive(Debug)]
pub struct About {
    name: &'static str,
    description: &'static str,
    /// Its fields before those that all documents have, and after them.
    before: &'static [&'static str],
    after: &'static [&'static str],
    needs_target: bool,
    /// What it says of fields, where that is not what [`LinkFields`] says.
    says: &'static [(&'static str, &'static str)],
}

/// A kind of document.
pub trait Kind {
    /// What is particular to it.
    const ABOUT: About;

    /// Changes the description of a field, where it is not of the form that [`LinkFields`] gives it.
    fn adapt(_field: &str, _schema: &mut RefOr<Schema>) {}
}

/// A document of this kind, which refuses fields of others.
#[derive(Debug)]
pub struct Document<K, T = LinkFields>(pub T, PhantomData<K>);

/// The new link in a query, where each value is a text.
pub type LinkQuery = Document<InQuery, HashMap<String, String>>;
/// The new link, where its parameters are not in the query.
pub type LinkObject = Document<New>;
/// A new link among many: also as an export has it.
pub type BulkObject = Document<OfMany>;
/// A change of a link: a merge patch (RFC 7396).
pub type LinkPatch = Document<Change>;

/// See [`LinkQuery`].
#[derive(Debug)]
pub enum InQuery {}
/// See [`LinkObject`].
#[derive(Debug)]
pub enum New {}
/// See [`BulkObject`].
#[derive(Debug)]
pub enum OfMany {}
/// See [`LinkPatch`].
#[derive(Debug)]
pub enum Change {}

impl Kind for InQuery {
    const ABOUT: About = About {
        name: "LinkQuery",
        description: "The new link.",
        needs_target: false,
        says: &[
            (
                "target_url",
                "Absolute `http` or `https` URL of at most 2048 bytes, percent-encoded as every parameter: without\ncontrol characters, without user name or password, and not on this service's own host. It is stored\nand returned exactly as given. Required, here or in the body.",
            ),
            ("title", "A name for you, of up to 200 characters."),
            (
                "tags",
                "Up to 20 words of up to 50 characters, with commas between.",
            ),
            (
                "forward_query",
                "Whether a visitor's query is added to that of the target; if both have a parameter of the same name, the visitor's value\nis used. A visit whose `Location` would be longer than 8192 bytes is answered 414, and one whose `Location` would be a URL that\nthe service refuses is answered 410.",
            ),
            ("view", "`full`: the response has all fields of the link."),
        ],
        ..New::ABOUT
    };

    fn adapt(field: &str, schema: &mut RefOr<Schema>) {
        match (field, &mut *schema) {
            ("target_url", RefOr::T(Schema::Object(target))) => {
                target.pattern = Some(r"^[Hh][Tt][Tt][Pp][Ss]?://[^/?#\\@]+([/?#]|$)".to_owned());
            }
            ("tags", _) => *schema = ObjectBuilder::new().schema_type(Type::String).into(),
            ("view", _) => *schema = ViewWord::schema(),
            _ => {}
        }
    }
}

impl Kind for New {
    const ABOUT: About = About {
        name: "LinkObject",
        description: "The new link, where its parameters are not in the query.",
        before: &["target_url", "custom_code"],
        after: &["view"],
        needs_target: true,
        says: &[("target_url", "As the query parameter.")],
    };
}

impl Kind for OfMany {
    const ABOUT: About = About {
        name: "BulkObject",
        description: "A new link among many: also as an export has it.",
        before: &["target_url", "custom_code"],
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
        needs_target: true,
        says: &[
            (
                "target_url",
                "Absolute `http` or `https` URL; its rules are those of a single link. It may have letters beyond ASCII, as in an export.",
            ),
            (
                "expires_at",
                "The moment from which the link is not followed any more: in the future, unless `created_at` shows an exported link.",
            ),
        ],
    };

    fn adapt(field: &str, schema: &mut RefOr<Schema>) {
        // Letters beyond ASCII are in no URI.
        if let ("target_url", RefOr::T(Schema::Object(target))) = (field, schema) {
            target.format = None;
        }
    }
}

impl Kind for Change {
    const ABOUT: About = About {
        name: "LinkPatch",
        description: "What changes; all other fields stay as they are. `null` takes a value away.",
        before: &["target_url", "is_active"],
        after: &[],
        needs_target: false,
        says: &[
            (
                "target_url",
                "Another target; its rules are those of a new link.",
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
    };

    fn adapt(field: &str, schema: &mut RefOr<Schema>) {
        match (field, schema) {
            ("target_url", RefOr::T(Schema::Object(target))) => target.example = None,
            ("is_active", RefOr::T(Schema::Object(flag))) => {
                flag.schema_type = Type::Boolean.into()
            }
            _ => {}
        }
    }
}

/// The names of all fields of a document.
fn names<K: Kind>() -> impl Iterator<Item = &'static str> {
    let About { before, after, .. } = K::ABOUT;
    before.iter().chain(&SHARED).chain(after).copied()
}

/// The fields of a document, as the API's own document describes them.
fn properties<K: Kind>() -> impl Iterator<Item = (&'static str, RefOr<Schema>)> {
    let mut all = match LinkFields::schema() {
        RefOr::T(Schema::Object(object)) => object.properties,
        _ => BTreeMap::new(),
    };
    names::<K>().filter_map(move |name| {
        let mut schema = all.remove(name)?;
        K::adapt(name, &mut schema);
        let says = K::ABOUT.says.iter().find(|(field, _)| *field == name);
        match (says, &mut schema) {
            (Some((_, text)), RefOr::T(Schema::Object(of))) => {
                of.description = Some((*text).into())
            }
            (Some((_, text)), RefOr::T(Schema::Array(of))) => of.description = Some((*text).into()),
            _ => {}
        }
        Some((name, schema))
    })
}

impl<K: Kind> PartialSchema for Document<K> {
    fn schema() -> RefOr<Schema> {
        let object = ObjectBuilder::new()
            .description(Some(K::ABOUT.description))
            .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)));
        let object = properties::<K>().fold(object, |object, (name, schema)| {
            object.property(name, schema)
        });
        match K::ABOUT.needs_target {
            true => object.required("target_url").into(),
            false => object.into(),
        }
    }
}

impl<K: Kind> ToSchema for Document<K> {
    fn name() -> Cow<'static, str> {
        K::ABOUT.name.into()
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
        properties::<InQuery>().map(parameter).collect()
    }
}

impl<'de, K: Kind, T: Deserialize<'de>> Deserialize<'de> for Document<K, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reading(PhantomData))
    }
}

struct Reading<K, T>(PhantomData<(K, T)>);

impl<'de, K: Kind, T: Deserialize<'de>> Visitor<'de> for Reading<K, T> {
    type Value = Document<K, T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Self::Value, M::Error> {
        let known = Known {
            map,
            names: names::<K>().map(|name| (name, false)).collect(),
        };
        let read = T::deserialize(MapAccessDeserializer::new(known))?;
        Ok(Document(read, PhantomData))
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
        let Self(mut texts, _) = self;
        if !texts.contains_key("target_url") {
            return Err("target_url: query parameter is required".to_owned());
        }
        LinkFields::of_texts(|name| texts.remove(name).map_or(FieldEdit::Keep, FieldEdit::Set))
    }
}
