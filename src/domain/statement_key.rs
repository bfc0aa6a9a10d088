//! The key that signs statements (Ed25519), and the public keys by which they are checked.

use std::fmt::Write as _;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD as BASE64};
use ring::digest::{SHA256, digest};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

/// Bytes of a seed, and of a public key.
const BYTES: usize = 32;

/// What stands before the seed in PKCS#8 (RFC 8410, 7).
const BEFORE_SEED: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const END: &str = "-----END PRIVATE KEY-----";

/// The key that signs; has no `Debug`.
#[derive(Clone)]
pub struct StatementKey {
    pair: Arc<Ed25519KeyPair>,
    public: StatementPublicKey,
}

/// A key by which statements are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementPublicKey([u8; BYTES]);

impl StatementKey {
    /// Reads a private key in PKCS#8, as PEM or only its base64: what `openssl genpkey -algorithm ed25519` prints.
    ///
    /// # Errors
    /// A sentence without any part of the key.
    pub fn parse(raw: &str) -> Result<Self, String> {
        let inner = raw.split_once(BEGIN).map_or(raw, |(_, rest)| rest);
        let inner = inner.split_once(END).map_or(inner, |(inner, _)| inner);
        let base64: String = inner.split_whitespace().collect();
        let pair = BASE64_STANDARD
            .decode(base64)
            .ok()
            .and_then(|key| Ed25519KeyPair::from_pkcs8_maybe_unchecked(&key).ok());
        let pair = pair.ok_or(
            "is no private key of Ed25519 in PKCS#8; give the output of `openssl genpkey -algorithm ed25519`, or its base64 in one line",
        )?;
        let public = StatementPublicKey::parse(pair.public_key().as_ref());
        Ok(Self {
            pair: Arc::new(pair),
            public: public.ok_or("has no public key")?,
        })
    }

    /// A new key as PEM.
    ///
    /// # Errors
    /// Without randomness.
    pub fn generate() -> Result<String, getrandom::Error> {
        let mut key = [0_u8; BEFORE_SEED.len() + BYTES];
        let (before, seed) = key.split_at_mut(BEFORE_SEED.len());
        before.copy_from_slice(&BEFORE_SEED);
        getrandom::fill(seed)?;
        Ok(format!("{BEGIN}\n{}\n{END}\n", BASE64_STANDARD.encode(key)))
    }

    /// The key by which its signatures are checked.
    #[must_use]
    pub fn public(&self) -> StatementPublicKey {
        self.public
    }

    /// The signature of a message in base64url.
    #[must_use]
    pub fn sign(&self, message: &[u8]) -> String {
        BASE64.encode(self.pair.sign(message))
    }
}

impl StatementPublicKey {
    /// A key of these bytes; `None` if they are too few or too many.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// A key of these bytes in base64url.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        Self::parse(&BASE64.decode(text).ok()?)
    }

    /// Its bytes in base64url.
    #[must_use]
    pub fn text(self) -> String {
        BASE64.encode(self.0)
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Its name: the thumbprint of RFC 7638, so that a key has the same name everywhere.
    #[must_use]
    pub fn id(self) -> String {
        let members = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{}"}}"#, self.text());
        BASE64.encode(digest(&SHA256, members.as_bytes()))
    }

    /// Whether it is the key of a signature in base64url.
    #[must_use]
    pub fn has_signed(&self, message: &[u8], signature: &str) -> bool {
        let key = UnparsedPublicKey::new(&ED25519, &self.0);
        let signature = BASE64.decode(signature);
        signature.is_ok_and(|signature| key.verify(message, &signature).is_ok())
    }
}

/// The SHA-256 of a text, as `sha256:` and its hexadecimal digits.
#[must_use]
pub fn sha256_of(text: &str) -> String {
    let mut written = "sha256:".to_owned();
    for byte in digest(&SHA256, text.as_bytes()).as_ref() {
        // Writing to a string does not fail.
        let _ = write!(written, "{byte:02x}");
    }
    written
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// RFC 8410, 10.3.
    const PEM: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n";
    const OF_PEM: &str = "Gb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE";

    fn key(raw: &str) -> StatementKey {
        StatementKey::parse(raw).unwrap()
    }

    #[test]
    fn a_key_is_read_as_pem_or_as_its_base64() {
        let base64 = PEM.lines().nth(1).unwrap();
        for raw in [PEM, base64, &format!("{base64}\n"), &PEM.replace('\n', " ")] {
            assert_eq!(key(raw).public().text(), OF_PEM);
        }
    }

    #[test]
    fn what_is_no_key_is_refused_without_a_part_of_it() {
        let of_another_kind = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg";
        for raw in [
            "",
            "secret",
            "c2VjcmV0",
            of_another_kind,
            "-----BEGIN PRIVATE KEY-----",
        ] {
            let refused = StatementKey::parse(raw).err().unwrap();
            assert!(
                raw.is_empty() || !refused.contains(raw) || raw == BEGIN,
                "{refused}"
            );
        }
    }

    /// RFC 8037, A.3.
    #[test]
    fn the_name_of_a_key_is_its_thumbprint() {
        let public = StatementPublicKey::from_text("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo");
        assert_eq!(
            public.unwrap().id(),
            "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
        );
    }

    #[test]
    fn a_new_key_signs_what_only_its_public_key_confirms() {
        let (one, other) = (
            key(&StatementKey::generate().unwrap()),
            key(&StatementKey::generate().unwrap()),
        );
        let signature = one.sign(b"a message");
        assert!(one.public().has_signed(b"a message", &signature));
        assert!(!one.public().has_signed(b"another one", &signature));
        assert!(!other.public().has_signed(b"a message", &signature));
    }

    #[test]
    fn a_digest_is_sha_256_in_hexadecimal() {
        let of_abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_of("abc"), of_abc);
    }

    proptest! {
        #[test]
        fn no_text_is_a_signature(text in "\\PC{0,90}") {
            prop_assert!(!key(PEM).public().has_signed(b"a message", &text));
            let _ = StatementKey::parse(&text);
            let _ = StatementPublicKey::from_text(&text);
        }
    }
}
