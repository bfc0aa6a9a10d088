//! The documents of the API that have fields of a link: each refuses the fields that only other documents have.

use std::fmt;

use super::fields::{DocumentKind, Field, LinkFields};
use crate::domain::FieldEdit;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, Visitor};

/// A document of the API: it refuses the fields of other documents.
#[derive(Debug)]
pub struct Document<const KIND: usize>(pub LinkFields);

/// The new link, where its parameters are not in the query.
pub type LinkObject = Document<{ DocumentKind::Object as usize }>;
/// A new link among many: also as an export has it.
pub type BulkObject = Document<{ DocumentKind::Bulk as usize }>;
/// A change of a link: a merge patch (RFC 7396).
pub type LinkPatch = Document<{ DocumentKind::Patch as usize }>;

/// The new link in a query, where each value is a text.
#[derive(Debug)]
pub struct LinkQuery(Vec<(&'static Field, String)>);

impl<'de, const KIND: usize> Deserialize<'de> for Document<KIND> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields(DocumentKind);

        impl<'de> Visitor<'de> for Fields {
            type Value = LinkFields;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<LinkFields, M::Error> {
                let of = self.0;
                LinkFields::deserialize(MapAccessDeserializer::new(Known { map, of }))
            }
        }

        let fields = Fields(DocumentKind::OF_API[KIND]);
        deserializer.deserialize_map(fields).map(Self)
    }
}

/// Fields of this document: serde knows only all names of [`LinkFields`].
struct Known<M> {
    map: M,
    of: DocumentKind,
}

impl<'de, M: MapAccess<'de>> MapAccess<'de> for Known<M> {
    type Error = M::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, M::Error> {
        let field = self.map.next_key_seed(NameIn(self.of))?;
        let name = field.map(|field| seed.deserialize(field.name.into_deserializer()));
        name.transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, M::Error> {
        self.map.next_value_seed(seed)
    }
}

/// Finds a field of this document by its name.
struct NameIn(DocumentKind);

impl<'de> DeserializeSeed<'de> for NameIn {
    type Value = &'static Field;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for NameIn {
    type Value = &'static Field;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name of a field")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        let known = || self.0.fields();
        known().find(|field| field.name == name).ok_or_else(|| {
            // The sentence is serde's own.
            let names: Vec<_> = known().map(|field| field.name).collect();
            let names = names.join("`, `");
            E::custom(format_args!(
                "unknown field `{name}`, expected one of `{names}`"
            ))
        })
    }
}

impl<'de> Deserialize<'de> for LinkQuery {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Texts;

        impl<'de> Visitor<'de> for Texts {
            type Value = LinkQuery;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("parameters")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<LinkQuery, M::Error> {
                let mut query = LinkQuery(Vec::new());
                while let Some(field) = map.next_key_seed(NameIn(DocumentKind::Query))? {
                    if query.text(field.name).is_some() {
                        return Err(Error::duplicate_field(field.name));
                    }
                    query.0.push((field, map.next_value()?));
                }
                Ok(query)
            }
        }

        deserializer.deserialize_map(Texts)
    }
}

impl LinkQuery {
    /// The value of a parameter.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        let mut texts = self.0.iter();
        let text = texts.find(|(field, _)| field.name == name);
        text.map(|(_, text)| text.as_str())
    }

    /// Whether there is any parameter of the link itself.
    #[must_use]
    pub fn has_link(&self) -> bool {
        self.0.iter().any(|(field, _)| field.name != "view")
    }

    /// The fields.
    ///
    /// # Errors
    /// A sentence that begins with the name of a parameter.
    pub fn fields(&self) -> Result<LinkFields, String> {
        if self.text("target_url").is_none() {
            return Err("target_url: query parameter is required".to_owned());
        }
        let text = |name| FieldEdit::set_if(self.text(name).map(str::to_owned));
        LinkFields::of_texts(DocumentKind::Query, text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn is_taken<const KIND: usize>(name: &str) -> bool {
        let object = json!({ name: null });
        serde_json::from_value::<Document<KIND>>(object).is_ok()
    }

    #[test]
    fn a_document_takes_its_own_fields_and_no_others() {
        for field in DocumentKind::Bulk
            .fields()
            .chain(DocumentKind::Object.fields())
        {
            let name = field.name;
            let has = |kind: DocumentKind| kind.fields().any(|field| field.name == name);
            let object = is_taken::<{ DocumentKind::Object as usize }>(name);
            assert_eq!(object, has(DocumentKind::Object), "{name}");
            let bulk = is_taken::<{ DocumentKind::Bulk as usize }>(name);
            assert_eq!(bulk, has(DocumentKind::Bulk), "{name}");
            let patch = is_taken::<{ DocumentKind::Patch as usize }>(name);
            assert_eq!(patch, has(DocumentKind::Patch), "{name}");
        }
        assert!(!is_taken::<{ DocumentKind::Bulk as usize }>("other"));
    }

    #[test]
    fn a_field_that_is_given_twice_is_refused() {
        let object = r#"{"title": "a", "title": "b"}"#;
        let refused = serde_json::from_str::<LinkPatch>(object).unwrap_err();
        let expected = "duplicate field `title`";
        assert!(refused.to_string().starts_with(expected), "{refused}");
    }
}
