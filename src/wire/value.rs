//! The value of a field, by its kind: it is read from a text and shown as a text without the name of the field.

use std::convert::Infallible;
use std::fmt::{self, Display, Formatter};

use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::rules::RulesJson;
use crate::domain::{FieldEdit, MaxClicks, NewOwner, StartingClicks, Timestamp, UserId};

/// The value of a field, by the kind of the field.
#[derive(Debug)]
pub enum Value<'a> {
    /// A text, which is checked later if there are rules for it.
    Text(&'a mut FieldEdit<String>),
    /// A text that is never shown.
    Secret(&'a mut FieldEdit<SecretText>),
    /// Several texts.
    Words(&'a mut FieldEdit<Vec<String>>),
    /// A time.
    Moment(&'a mut FieldEdit<Timestamp>),
    /// A number from 1 up.
    Limit(&'a mut FieldEdit<MaxClicks>),
    /// A number from 0 up.
    Count(&'a mut FieldEdit<StartingClicks>),
    /// True or false.
    Flag(&'a mut FieldEdit<bool>),
    /// Rules, which are checked later.
    Rules(&'a mut FieldEdit<RulesJson>),
    /// Whose it is.
    Owner(&'a mut FieldEdit<OwnerWord>),
    /// Nothing that is of interest.
    Ignored(&'a mut FieldEdit<Ignored>),
}

impl Value<'_> {
    /// Whether the field stays as it is.
    pub(super) fn is_kept(&self) -> bool {
        match self {
            Self::Text(value) => value.is_kept(),
            Self::Secret(value) => value.is_kept(),
            Self::Words(value) => value.is_kept(),
            Self::Moment(value) => value.is_kept(),
            Self::Limit(value) => value.is_kept(),
            Self::Count(value) => value.is_kept(),
            Self::Flag(value) => value.is_kept(),
            Self::Rules(value) => value.is_kept(),
            Self::Owner(value) => value.is_kept(),
            Self::Ignored(value) => value.is_kept(),
        }
    }

    /// Sets it to the next value of an object.
    pub(super) fn read<'de, M: MapAccess<'de>>(self, map: &mut M) -> Result<(), M::Error> {
        match self {
            Self::Text(value) => *value = map.next_value()?,
            Self::Secret(value) => *value = map.next_value()?,
            Self::Words(value) => *value = map.next_value()?,
            Self::Moment(value) => *value = map.next_value()?,
            Self::Limit(value) => *value = map.next_value()?,
            Self::Count(value) => *value = map.next_value()?,
            Self::Flag(value) => *value = map.next_value()?,
            Self::Rules(value) => *value = map.next_value()?,
            Self::Owner(value) => *value = map.next_value()?,
            Self::Ignored(value) => *value = map.next_value()?,
        }
        Ok(())
    }

    /// Sets it to what a text says.
    pub(super) fn set(self, name: &str, text: FieldEdit<String>) -> Result<(), String> {
        match self {
            Self::Text(value) => *value = text,
            Self::Secret(value) => {
                let text = text.parsed(|raw| Ok::<_, Infallible>(Some(SecretText::new(raw))));
                *value = text.unwrap_or_else(|never| match never {});
            }
            Self::Words(value) => {
                *value = parsed(name, text, |raw| {
                    Ok::<_, Infallible>(raw.split(',').map(str::to_owned).collect())
                })?;
            }
            Self::Moment(value) => *value = parsed(name, text, str::parse)?,
            Self::Limit(value) => *value = parsed(name, text, str::parse)?,
            Self::Count(value) => *value = parsed(name, text, str::parse)?,
            Self::Flag(value) => {
                let flag = |raw: &str| raw.parse::<bool>().map_err(|_| "must be true or false");
                *value = parsed(name, text, flag)?;
            }
            Self::Rules(value) => *value = parsed(name, text, str::parse)?,
            Self::Owner(value) => *value = parsed(name, text, OwnerWord::parse)?,
            Self::Ignored(_) => {}
        }
        Ok(())
    }
}

fn parsed<T, E: Display>(
    name: &str,
    text: FieldEdit<String>,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<FieldEdit<T>, String> {
    let parsed = text.parsed(|raw| parse(&raw).map(Some));
    parsed.map_err(|error| format!("{name}: {error}"))
}

impl Display for Value<'_> {
    /// As a table has it: empty if the field is not given.
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        fn shown<T: Display>(value: &FieldEdit<T>, formatter: &mut Formatter<'_>) -> fmt::Result {
            (value.as_given()).map_or(Ok(()), |value| value.fmt(formatter))
        }
        match self {
            Self::Text(value) => shown(value, formatter),
            Self::Words(FieldEdit::Set(words)) => formatter.write_str(&words.join(",")),
            Self::Moment(value) => shown(value, formatter),
            Self::Limit(value) => shown(value, formatter),
            Self::Count(value) => shown(value, formatter),
            Self::Flag(value) => shown(value, formatter),
            Self::Rules(value) => shown(value, formatter),
            Self::Owner(value) => shown(value, formatter),
            Self::Secret(_) | Self::Words(_) | Self::Ignored(_) => Ok(()),
        }
    }
}

/// Whose a link is to be: `me`, or the number of an account or a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerWord(pub NewOwner);

/// The word for the account of the person who asks.
const ME: &str = "me";

impl OwnerWord {
    fn parse(raw: &str) -> Result<Self, &'static str> {
        if raw == ME {
            return Ok(Self(NewOwner::Me));
        }
        let number = raw.parse().ok().filter(|number| *number > 0);
        let number = number.ok_or("must be \"me\", or the number of a group")?;
        Ok(Self(NewOwner::Numbered(UserId(number))))
    }
}

impl Display for OwnerWord {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            NewOwner::Me => formatter.write_str(ME),
            NewOwner::Numbered(owner) => owner.0.fmt(formatter),
        }
    }
}

impl Serialize for OwnerWord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            NewOwner::Me => serializer.serialize_str(ME),
            NewOwner::Numbered(owner) => serializer.serialize_i64(owner.0),
        }
    }
}

impl<'de> Deserialize<'de> for OwnerWord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Word;

        impl Visitor<'_> for Word {
            type Value = OwnerWord;

            fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
                formatter.write_str("\"me\" or a number")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<OwnerWord, E> {
                OwnerWord::parse(text).map_err(E::custom)
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<OwnerWord, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<OwnerWord, E> {
                self.visit_str(&number.to_string())
            }
        }

        deserializer.deserialize_any(Word)
    }
}

/// A value that is read over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "IgnoredAny")]
pub struct Ignored;

impl From<IgnoredAny> for Ignored {
    fn from(_: IgnoredAny) -> Self {
        Self
    }
}

/// An error in the words that its type has for the client.
pub(super) fn sentence(error: impl std::error::Error) -> String {
    error.to_string()
}

/// A text that is sent and never shown: neither it nor what stands in its place is in a message.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct SecretText(String);

impl SecretText {
    /// This text.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text, to be parsed.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("SecretText(…)")
    }
}

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        /// A number, say, could be the password without its quotes: serde's own messages would show it.
        fn refused<T, E: Error>() -> Result<T, E> {
            Err(E::custom("must be a string"))
        }

        impl Visitor<'_> for Text {
            type Value = SecretText;

            fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<SecretText, E> {
                Ok(SecretText(text.to_owned()))
            }

            fn visit_string<E: Error>(self, text: String) -> Result<SecretText, E> {
                Ok(SecretText(text))
            }

            fn visit_bool<E: Error>(self, _: bool) -> Result<SecretText, E> {
                refused()
            }

            fn visit_i64<E: Error>(self, _: i64) -> Result<SecretText, E> {
                refused()
            }

            fn visit_u64<E: Error>(self, _: u64) -> Result<SecretText, E> {
                refused()
            }

            fn visit_f64<E: Error>(self, _: f64) -> Result<SecretText, E> {
                refused()
            }
        }

        deserializer.deserialize_any(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_a_word_or_a_number_also_as_a_text() {
        let read = |json: &str| serde_json::from_str::<OwnerWord>(json);
        assert_eq!(read("\"me\"").unwrap(), OwnerWord(NewOwner::Me));
        for json in ["12", "\"12\""] {
            let owner = read(json).unwrap();
            assert_eq!(owner, OwnerWord(NewOwner::Numbered(UserId(12))));
            assert_eq!(serde_json::to_string(&owner).unwrap(), "12");
        }
        for json in ["0", "-3", "\"you\"", "1.5", "true", "[]"] {
            assert!(read(json).is_err(), "{json}");
        }
    }

    #[test]
    fn a_secret_is_in_no_message() {
        for (json, secret) in [
            ("12345678", "12345678"),
            ("-12345678", "12345678"),
            ("1234.5678", "1234"),
            ("true", "true"),
            ("[12345678]", "12345678"),
        ] {
            let error = serde_json::from_str::<SecretText>(json).unwrap_err();
            assert!(!error.to_string().contains(secret), "{error}");
        }
        let secret: SecretText = serde_json::from_str("\"open sesame\"").unwrap();
        assert_eq!(secret.expose(), "open sesame");
        assert!(!format!("{secret:?}").contains("sesame"));
        assert_eq!(serde_json::to_string(&secret).unwrap(), "\"open sesame\"");
    }
}
