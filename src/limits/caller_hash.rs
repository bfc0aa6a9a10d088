//! Hashes of callers: of addresses, e-mail addresses and accounts, which strangers choose.
//!
//! They are in Redis and in the database. Keyed by the service's secret, they cannot be turned back into addresses by
//! trying all of them, and no stranger can find the hash of another caller.

use ring::hmac::{Context, HMAC_SHA256, Key, sign};

use crate::domain::TokenSecret;

/// What the key is derived for: it signs no tokens.
const PURPOSE: &[u8] = b"shunt: hashes of callers";

/// Hashes callers, in the same way on all instances with the same secret; cheap to clone.
#[derive(Clone)]
pub struct CallerHasher {
    key: Key,
    previous: Option<Key>,
}

impl CallerHasher {
    /// With a key that is derived from the secret of tokens. Another secret makes other hashes: counters begin anew then.
    #[must_use]
    pub fn new(secret: &TokenSecret) -> Self {
        let key = derived(secret);
        Self {
            key,
            previous: None,
        }
    }

    /// Also knows the hashes of the previous secret.
    #[must_use]
    pub fn with_previous(self, secret: Option<&TokenSecret>) -> Self {
        let previous = secret.map(derived);
        Self { previous, ..self }
    }

    /// The hash of a caller, who may have several parts, for one use.
    #[must_use]
    pub fn hash(&self, usage: &str, caller: &[&str]) -> u64 {
        hash_by(&self.key, usage, caller)
    }

    /// The hash with the previous secret, if it is known: values that are kept for long are found by it after a rotation.
    #[must_use]
    pub fn previous_hash(&self, usage: &str, caller: &[&str]) -> Option<u64> {
        let previous = self.previous.as_ref()?;
        Some(hash_by(previous, usage, caller))
    }
}

fn derived(secret: &TokenSecret) -> Key {
    let derived = sign(&Key::new(HMAC_SHA256, secret.expose()), PURPOSE);
    Key::new(HMAC_SHA256, derived.as_ref())
}

fn hash_by(key: &Key, usage: &str, caller: &[&str]) -> u64 {
    let mut context = Context::with_key(key);
    for part in [usage].iter().chain(caller) {
        context.update(part.as_bytes());
        // No text has this byte, so no two lists of parts are the same bytes.
        context.update(&[0xff]);
    }
    let half = context.sign().as_ref().first_chunk().copied();
    u64::from_be_bytes(half.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hasher(secret: &[u8]) -> CallerHasher {
        CallerHasher::new(&TokenSecret::from_bytes(secret.to_vec()).unwrap())
    }

    #[test]
    fn a_hash_depends_on_the_secret_the_use_and_each_part() {
        let first = hasher(b"0123456789abcdef0123456789abcdef");
        let hash = first.hash("login", &["ada", "198.51.100.1"]);
        let again = hasher(b"0123456789abcdef0123456789abcdef");
        assert_eq!(again.hash("login", &["ada", "198.51.100.1"]), hash);
        let other = hasher(b"fedcba9876543210fedcba9876543210");
        let rotated = hasher(b"fedcba9876543210fedcba9876543210");
        let secret = b"0123456789abcdef0123456789abcdef".to_vec();
        let rotated = rotated.with_previous(TokenSecret::from_bytes(secret).ok().as_ref());
        let caller = ["ada", "198.51.100.1"];
        assert_eq!(rotated.previous_hash("login", &caller), Some(hash));
        for different in [
            other.hash("login", &["ada", "198.51.100.1"]),
            first.hash("report", &["ada", "198.51.100.1"]),
            first.hash("login", &["ada1", "98.51.100.1"]),
            first.hash("login", &["ada198.51.100.1"]),
            first.hash("login", &["ada", "198.51.100.1", ""]),
        ] {
            assert_ne!(different, hash);
        }
    }
}
