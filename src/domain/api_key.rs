//! API keys: what they may do, and what their owners see of them.

use super::{EmailAddress, Timestamp};

/// What an API key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Read links and statistics.
    Read,
    /// Change links, too.
    Write,
    /// Only create links, and see nothing but itself.
    Create,
}

impl Scope {
    /// What a person may ask for, in a sentence.
    pub const NAMES: &'static str = "read, write or create";

    /// The scope with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "read" => Some(Self::Read),
            "write" => Some(Self::Write),
            "create" => Some(Self::Create),
            _ => None,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Create => "create",
        }
    }
}

/// The owner's name for a key: 1 to 100 characters, without control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyName(String);

/// Why a text is not the name of a key; its text is for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("name: must be 1 to 100 characters, without control characters")]
pub struct InvalidKeyName;

impl KeyName {
    /// Checks a name.
    ///
    /// # Errors
    /// [`InvalidKeyName`].
    pub fn parse(raw: &str) -> Result<Self, InvalidKeyName> {
        let fits = (1..=100).contains(&raw.chars().count());
        if fits && !raw.chars().any(char::is_control) {
            Ok(Self(raw.to_owned()))
        } else {
            Err(InvalidKeyName)
        }
    }

    /// A name from the database: it was checked before it was stored.
    #[must_use]
    pub fn from_stored(raw: String) -> Self {
        Self(raw)
    }

    /// The name as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A key as its owner sees it, without the key itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// The database's own number.
    pub id: i64,
    /// The owner's name for it.
    pub name: KeyName,
    /// What it may do.
    pub scope: Scope,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
    /// The last day on which it was used, as `2027-01-31`.
    pub last_used_on: Option<String>,
    /// Of a key of a group, the address of the member who made it, if that account is still there.
    pub made_by: Option<EmailAddress>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_name_that_is_accepted_is_kept_as_given(raw in prop_oneof!["\\PC{0,110}", any::<String>()]) {
            match KeyName::parse(&raw) {
                Ok(name) => {
                    prop_assert_eq!(name.as_str(), &raw);
                    prop_assert!((1..=100).contains(&raw.chars().count()));
                    prop_assert!(!raw.chars().any(char::is_control));
                }
                Err(InvalidKeyName) => {
                    prop_assert!(!(1..=100).contains(&raw.chars().count()) || raw.chars().any(char::is_control));
                }
            }
        }
    }
}
