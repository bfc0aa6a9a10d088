//! The secret part of a link that works once, such as an invitation. Only its hash is kept.

use std::fmt::Write;

use ring::digest::{SHA256, digest};

use super::TokenKey;

/// Random bytes of a token: they cannot be guessed.
const BYTES: usize = 24;

/// 192 random bits in hexadecimal digits; has no `Debug`, as it is a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct OneTimeToken(String);

impl OneTimeToken {
    /// Draws a token from the system's secure random source.
    ///
    /// # Errors
    /// When the system's random source fails.
    pub fn generate() -> Result<Self, getrandom::Error> {
        let mut random = [0; BYTES];
        getrandom::fill(&mut random)?;
        let mut text = String::with_capacity(2 * BYTES);
        for byte in random {
            // Writing to a string does not fail.
            let _ = write!(text, "{byte:02x}");
        }
        Ok(Self(text))
    }

    /// A token in an address; `None` if it has another shape, and so is unknown for sure.
    #[must_use]
    pub fn parse(raw: &str) -> Option<Self> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (raw.len() == 2 * BYTES && raw.bytes().all(is_digit)).then(|| Self(raw.to_owned()))
    }

    /// The text, for its address.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What is kept of it. A plain digest is enough: 2^192 tokens are too many to try.
    ///
    /// # Panics
    /// Never: half of a digest of 32 bytes has 16.
    #[must_use]
    pub fn hash(&self) -> TokenKey {
        let digest = digest(&SHA256, self.0.as_bytes());
        TokenKey::from_bytes(&digest.as_ref()[..16]).expect("half of a digest of 32 bytes has 16")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_token_is_read_as_it_was_drawn_and_no_two_are_alike() {
        let (one, other) = (
            OneTimeToken::generate().unwrap(),
            OneTimeToken::generate().unwrap(),
        );
        assert!(OneTimeToken::parse(one.expose()).is_some_and(|read| read == one));
        assert!(one != other && one.hash() != other.hash());
    }

    proptest! {
        #[test]
        fn any_text_is_read_unchanged_or_not_at_all(raw in prop_oneof!["\\PC*", "[0-9a-f]{46,50}", "[0-9A-F]{48}"]) {
            let read = OneTimeToken::parse(&raw);
            let is_shaped = raw.len() == 48 && raw.bytes().all(|byte| b"0123456789abcdef".contains(&byte));
            prop_assert_eq!(read.is_some(), is_shaped);
            prop_assert!(read.is_none_or(|read| read.expose() == raw));
        }
    }
}
