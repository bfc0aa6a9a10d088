//! The value of a field, by its kind: it is read from a text and shown as a text without the name of the field.

use std::fmt::{self, Display, Formatter};
use std::str::ParseBoolError;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::domain::{FieldEdit, InvalidTimestamp, MaxClicks, StartingClicks, Timestamp};

/// The value of a field, by the kind of the field.
#[derive(Debug)]
pub enum Value<'a> {
    /// A text, which is checked later if there are rules for it.
    Text(&'a mut FieldEdit<String>),
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
    /// Nothing that is of interest.
    Ignored(&'a mut FieldEdit<Ignored>),
}

impl Value<'_> {
    /// Sets it to what a text says.
    pub(super) fn set(self, name: &str, text: FieldEdit<String>) -> Result<(), String> {
        match self {
            Self::Text(value) => *value = text,
            Self::Words(value) => {
                *value = text.parsed(|raw| {
                    let words = raw.split(',').map(str::to_owned).collect();
                    Ok::<_, String>(Some(words))
                })?;
            }
            Self::Moment(value) => {
                let time = text.parsed(|raw| raw.parse().map(Some));
                *value = time.map_err(|error: InvalidTimestamp| format!("{name}: {error}"))?;
            }
            // What is no number is refused with the sentence for 0.
            Self::Limit(value) => {
                let limit = text.parsed(|raw| MaxClicks::parse(raw.parse().unwrap_or(0)).map(Some));
                *value = limit.map_err(sentence)?;
            }
            Self::Count(value) => {
                let count = text
                    .parsed(|raw| StartingClicks::parse(raw.parse().unwrap_or(u64::MAX)).map(Some));
                *value = count.map_err(sentence)?;
            }
            Self::Flag(value) => {
                let flag = text.parsed(|raw| raw.parse().map(Some));
                *value =
                    flag.map_err(|_: ParseBoolError| format!("{name}: must be true or false"))?;
            }
            Self::Ignored(value) => *value = FieldEdit::set_if(text.given().map(|_| Ignored)),
        }
        Ok(())
    }
}

impl Display for Value<'_> {
    /// As a table has it: empty if the field is not given.
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        fn shown<T: Display>(value: &FieldEdit<T>, formatter: &mut Formatter<'_>) -> fmt::Result {
            match value {
                FieldEdit::Set(value) => value.fmt(formatter),
                FieldEdit::Keep | FieldEdit::Clear => Ok(()),
            }
        }
        match self {
            Self::Text(value) => shown(value, formatter),
            Self::Words(FieldEdit::Set(words)) => formatter.write_str(&words.join(",")),
            Self::Moment(value) => shown(value, formatter),
            Self::Limit(value) => shown(value, formatter),
            Self::Count(value) => shown(value, formatter),
            Self::Flag(value) => shown(value, formatter),
            Self::Words(_) | Self::Ignored(_) => Ok(()),
        }
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
