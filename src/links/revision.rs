//! The revision of a link: by it a client says which state it has seen.

use std::fmt;

use ring::digest::{Context, SHA256};

use crate::domain::Link;

/// A digest of everything that an owner may change, and of a removal. Clicks are not part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision(String);

impl Revision {
    /// The revision of a link as it is.
    #[must_use]
    pub fn of(link: &Link) -> Self {
        let mut digest = Context::new(&SHA256);
        digest.update(&link.id.number().to_le_bytes());
        digest.update(&link.owner.0.to_le_bytes());
        digest.update(&link.properties.canonical());
        if let Some(status) = link.removed {
            digest.update(&status.code().to_le_bytes());
        }
        let digest = digest.finish();
        let number = digest.as_ref().first_chunk().copied();
        Self(format!(
            "{:032x}",
            u128::from_be_bytes(number.unwrap_or_default())
        ))
    }

    /// Its text, of hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
