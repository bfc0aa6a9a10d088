//! The secret that signs tokens.

/// At least 32 bytes; has no `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSecret(Vec<u8>);

/// Fewer than [`TokenSecret::MIN_BYTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a secret has at least {} bytes", TokenSecret::MIN_BYTES)]
pub struct SecretTooShort;

impl TokenSecret {
    /// Fewest bytes (RFC 7518, 3.2: as long as the hash of HS256).
    pub const MIN_BYTES: usize = 32;

    /// Checks the length.
    ///
    /// # Errors
    /// When it is too short.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, SecretTooShort> {
        if bytes.len() < Self::MIN_BYTES {
            return Err(SecretTooShort);
        }
        Ok(Self(bytes))
    }

    /// The bytes, for `accounts` alone.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}
