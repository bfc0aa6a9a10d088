//! A change of one field, which a document leaves out, takes away or sets.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What becomes of a value that may be absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FieldEdit<T> {
    /// It stays as it is.
    #[default]
    Keep,
    /// It is taken away.
    Clear,
    /// It is replaced.
    Set(T),
}

impl<T: Clone> FieldEdit<T> {
    pub(super) fn apply(&self, to: Option<&T>) -> Option<T> {
        match self {
            Self::Keep => to.cloned(),
            Self::Clear => None,
            Self::Set(value) => Some(value.clone()),
        }
    }
}

impl<T> FieldEdit<T> {
    /// The same of a parsed value; a value that is parsed to nothing is taken away.
    ///
    /// # Errors
    /// Those of `parse`.
    pub fn parsed<U, E>(
        self,
        parse: impl FnOnce(T) -> Result<Option<U>, E>,
    ) -> Result<FieldEdit<U>, E> {
        Ok(match self {
            Self::Keep => FieldEdit::Keep,
            Self::Clear => FieldEdit::Clear,
            Self::Set(value) => parse(value)?.map_or(FieldEdit::Clear, FieldEdit::Set),
        })
    }

    /// The new value; `None` if the value stays.
    ///
    /// # Errors
    /// What `cleared` returns if the value is taken away.
    pub fn value<E>(self, cleared: impl FnOnce() -> Result<T, E>) -> Result<Option<T>, E> {
        match self {
            Self::Keep => Ok(None),
            Self::Clear => cleared().map(Some),
            Self::Set(value) => Ok(Some(value)),
        }
    }

    /// The new value, if there is one.
    #[must_use]
    pub fn given(self) -> Option<T> {
        match self {
            Self::Set(value) => Some(value),
            Self::Keep | Self::Clear => None,
        }
    }

    /// The same, as a reference.
    #[must_use]
    pub fn as_given(&self) -> Option<&T> {
        match self {
            Self::Set(value) => Some(value),
            Self::Keep | Self::Clear => None,
        }
    }

    /// The value, if there is one; otherwise it stays as it is.
    #[must_use]
    pub fn set_if(value: Option<T>) -> Self {
        value.map_or(Self::Keep, Self::Set)
    }

    /// Whether it stays as it is.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        matches!(self, Self::Keep)
    }
}

impl<T> From<Option<T>> for FieldEdit<T> {
    /// `None` takes the value away.
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Clear, Self::Set)
    }
}

/// A field that is there, perhaps as `null`. For a field that is not there, its struct has the default.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for FieldEdit<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(Self::from)
    }
}

/// `null` unless there is a value: a field that is kept is left out by its struct.
impl<T: Serialize> Serialize for FieldEdit<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Set(value) => serializer.serialize_some(value),
            Self::Keep | Self::Clear => serializer.serialize_none(),
        }
    }
}
