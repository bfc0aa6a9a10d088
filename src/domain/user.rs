//! Accounts, which own links.

use std::fmt;

use serde::Serialize;
use utoipa::ToSchema;

use super::{EmailAddress, GroupName};

/// Identifier of a user: the database's own, always positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(transparent)]
pub struct UserId(pub i64);

impl UserId {
    /// No account. Clicks by an alias are counted under its number with this owner, and a second time for the link with the link's:
    /// sums of owners, and of all clicks, leave out the former.
    pub const NOBODY: Self = Self(0);
}

/// A registered user, without the stored form of the password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Identifier.
    pub id: UserId,
    /// E-mail address as given at registration; of a group, what stands for an address.
    pub email: EmailAddress,
    /// The name of a group, which is an account that nobody signs in to.
    pub group: Option<GroupName>,
}

impl User {
    /// By which name people know it: a person's address, or the name of a group.
    #[must_use]
    pub fn shown(&self) -> &str {
        let group = self.group.as_ref().map(GroupName::as_str);
        group.unwrap_or(self.email.as_str())
    }
}

/// What tokens name an account by, beside its id, or the hash of an API key in their place: a database that is restored from a backup gives ids out again, and never
/// a key. All tokens of an account end when it gets another key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenKey([u8; TokenKey::BYTES]);

impl TokenKey {
    const BYTES: usize = 16;

    /// Draws a key from the system's secure random source.
    ///
    /// # Errors
    /// When the system's random source fails.
    pub fn generate() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; Self::BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// A key from the database; `None` if it is invalid.
    #[must_use]
    pub fn from_bytes(stored: &[u8]) -> Option<Self> {
        stored.try_into().ok().map(Self)
    }

    /// The key as the database keeps it.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Reads what [`fmt::Display`] writes.
    #[must_use]
    pub fn parse(raw: &str) -> Option<Self> {
        let is_shaped = raw.len() == 2 * Self::BYTES
            && raw
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let number = u128::from_str_radix(raw, 16).ok().filter(|_| is_shaped)?;
        Some(Self(number.to_be_bytes()))
    }
}

/// 32 hexadecimal digits.
impl fmt::Display for TokenKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", u128::from_be_bytes(self.0))
    }
}

/// The account that a token names, or a group that its account acts for. Every operation in its name compares both parts with the
/// database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Principal {
    /// The account's identifier.
    pub user: UserId,
    /// The key that the account had when the token was issued, also for a group; or the hash of an API key.
    pub key: TokenKey,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_key_is_read_as_it_was_written(bytes: [u8; 16]) {
            let key = TokenKey(bytes);
            prop_assert_eq!(TokenKey::parse(&key.to_string()), Some(key));
            prop_assert_eq!(TokenKey::from_bytes(key.as_bytes()), Some(key));
        }

        #[test]
        fn a_key_that_is_accepted_is_written_in_that_form(raw in prop_oneof!["\\PC{0,40}", "[0-9a-fA-F+]{30,34}"]) {
            if let Some(key) = TokenKey::parse(&raw) {
                prop_assert_eq!(key.to_string(), raw);
            }
        }

        #[test]
        fn bytes_of_another_length_are_no_key(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(TokenKey::from_bytes(&bytes).is_some(), bytes.len() == 16);
        }
    }
}
