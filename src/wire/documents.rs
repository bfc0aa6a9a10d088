//! The documents of the API that have fields of a link: each refuses the fields that only other documents have.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};

use super::fields::{DocumentKind, Field, LinkFields};
use crate::domain::{FieldEdit, unknown_name};

/// A document of the API: it refuses the fields of other documents.
#[derive(Debug)]
pub struct Document<const KIND: usize>(pub LinkFields);

impl<const KIND: usize> Document<KIND> {
    pub(super) const KIND: DocumentKind = DocumentKind::OF_API[KIND];
}

/// The new link, if its parameters are not in the query.
pub type LinkObject = Document<{ DocumentKind::Object as usize }>;
/// A new link among many: also as an export has it.
pub type BulkObject = Document<{ DocumentKind::Bulk as usize }>;
/// A change of a link: a merge patch (RFC 7396).
pub type LinkPatch = Document<{ DocumentKind::Patch as usize }>;

/// Fields that no query has.
const IN_BODY_ONLY: [&str; 2] = ["password", "password_hash"];

/// The new link in a query, where each value is a text.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct LinkQuery(Vec<(String, String)>);

impl<'de, const KIND: usize> Deserialize<'de> for Document<KIND> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields(DocumentKind);

        impl<'de> Visitor<'de> for Fields {
            type Value = LinkFields;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<LinkFields, M::Error> {
                let mut fields = LinkFields::default();
                while let Some(field) = map.next_key_seed(NameIn(self.0))? {
                    let value = (field.value)(&mut fields);
                    if !value.is_kept() {
                        return Err(Error::duplicate_field(field.name));
                    }
                    value.read(&mut map)?;
                }
                Ok(fields)
            }
        }

        let fields = Fields(Self::KIND);
        deserializer.deserialize_map(fields).map(Self)
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

impl LinkQuery {
    /// Refuses parameters that are unknown, or given twice.
    ///
    /// # Errors
    /// A sentence that begins with the name of the parameter.
    pub fn check(&self) -> Result<(), String> {
        let known = || DocumentKind::Query.fields().map(|field| field.name);
        let names: Vec<_> = self.0.iter().map(|(name, _)| name.clone()).collect();
        for (at, name) in names.iter().enumerate() {
            if IN_BODY_ONLY.contains(&name.as_str()) {
                return Err(format!(
                    "{name}: must be in the body: addresses get into logs"
                ));
            }
            if known().all(|known| known != name) {
                return Err(unknown_name(name, known(), &names));
            }
            if names[..at].contains(name) {
                return Err(format!("{name}: must be given only once"));
            }
        }
        Ok(())
    }

    /// The value of a parameter.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        let mut texts = self.0.iter();
        let text = texts.find(|(known, _)| known == name);
        text.map(|(_, text)| text.as_str())
    }

    /// Whether there is any parameter of the link itself.
    #[must_use]
    pub fn has_link(&self) -> bool {
        self.0.iter().any(|(name, _)| name != "view")
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
    fn a_field_that_a_document_leaves_out_stays_as_it_is() {
        let read: LinkPatch = serde_json::from_str("{}").unwrap();
        for fields in [read.0, LinkFields::default()] {
            assert_eq!(serde_json::to_string(&fields).unwrap(), "{}");
        }
    }

    #[test]
    fn a_field_that_is_given_twice_is_refused() {
        let object = r#"{"title": "a", "title": "b"}"#;
        let refused = serde_json::from_str::<LinkPatch>(object).unwrap_err();
        let expected = "duplicate field `title`";
        assert!(refused.to_string().starts_with(expected), "{refused}");
    }
}
