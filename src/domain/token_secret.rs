//! The secret that signs tokens.

use std::collections::HashSet;

/// At least 32 bytes, not all alike; has no `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSecret(Vec<u8>);

/// Why bytes are not a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WeakSecret {
    /// Fewer than [`TokenSecret::MIN_BYTES`].
    #[error("a secret has at least {} bytes", TokenSecret::MIN_BYTES)]
    Short,
    /// Fewer than [`TokenSecret::MIN_DISTINCT`] different bytes: no random secret has so few.
    #[error("a secret has at least {} different bytes", TokenSecret::MIN_DISTINCT)]
    Monotonous,
}

impl TokenSecret {
    /// Fewest bytes (RFC 7518, 3.2: as long as the hash of HS256).
    pub const MIN_BYTES: usize = 32;

    /// Fewest different bytes. Of 32 random digits fewer are different once in 10^10 draws.
    pub const MIN_DISTINCT: usize = 5;

    /// Checks the length, and that the bytes are not all alike.
    ///
    /// # Errors
    /// [`WeakSecret`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, WeakSecret> {
        if bytes.len() < Self::MIN_BYTES {
            return Err(WeakSecret::Short);
        }
        let distinct: HashSet<_> = bytes.iter().collect();
        if distinct.len() < Self::MIN_DISTINCT {
            return Err(WeakSecret::Monotonous);
        }
        Ok(Self(bytes))
    }

    /// Whether the bytes follow a pattern that a guess would start with: a piece that is repeated, or mostly neighbours in
    /// the alphabet.
    #[must_use]
    pub fn has_pattern(&self) -> bool {
        let (bytes, half) = (&self.0, self.0.len() / 2);
        let repeats = |piece: usize| bytes[piece..].iter().eq(&bytes[..bytes.len() - piece]);
        let steps = bytes
            .windows(2)
            .filter(|pair| pair[0].abs_diff(pair[1]) == 1);
        (1..=half).any(repeats) || steps.count() > half
    }

    /// The bytes, only for `accounts`.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn secret(raw: &str) -> Result<bool, WeakSecret> {
        TokenSecret::from_bytes(raw.into()).map(|secret| secret.has_pattern())
    }

    #[test]
    fn a_secret_that_is_surely_guessed_is_none_and_one_with_a_pattern_is_found() {
        assert_eq!(secret(&"x".repeat(31)), Err(WeakSecret::Short));
        assert_eq!(secret(&"x".repeat(32)), Err(WeakSecret::Monotonous));
        assert_eq!(secret(&"abcd".repeat(8)), Err(WeakSecret::Monotonous));
        assert_eq!(secret(&"abcde".repeat(8)), Ok(true));
        assert_eq!(secret("abcdefghijklmnopqrstuvwxyz0123456789"), Ok(true));
        assert_eq!(
            secret("a secret of the tests, 32 bytes and more"),
            Ok(false)
        );
    }

    proptest! {
        #[test]
        fn a_random_secret_is_taken_without_a_word(bytes in any::<[u8; 32]>()) {
            let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
            let hexadecimal: String = digits.map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])).collect();
            prop_assert_eq!(secret(&hexadecimal), Ok(false));
            let as_it_is = TokenSecret::from_bytes(bytes.to_vec());
            prop_assert_eq!(as_it_is.map(|secret| secret.has_pattern()), Ok(false));
        }
    }
}
