//! The keys of a provider (RFC 7517), and the signatures that they can have made.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::Value;

/// What the document is called in messages.
pub(super) const NAME: &str = "key set";

/// Keys that are read at most.
const MAX_KEYS: usize = 64;

/// How a token is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    Rs256,
    Es256,
    EdDsa,
}

impl Algorithm {
    /// The names that providers write.
    pub(super) const NAMES: [(&str, Self); 4] = [
        ("RS256", Self::Rs256),
        ("ES256", Self::Es256),
        ("EdDSA", Self::EdDsa),
        ("Ed25519", Self::EdDsa),
    ];

    pub(super) fn named(name: &str) -> Option<Self> {
        let mut names = Self::NAMES.iter();
        names.find(|(known, _)| *known == name).map(|found| found.1)
    }
}

/// The document.
#[derive(Deserialize)]
pub(super) struct KeySet {
    /// A key of an unknown kind must not make the others unreadable.
    keys: Vec<Value>,
}

/// A key that signs in one way.
#[derive(Clone, Debug)]
pub(super) struct PublicKey {
    pub(super) id: Option<String>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl KeySet {
    /// The keys that can sign a token for this service.
    pub(super) fn public_keys(self) -> Vec<PublicKey> {
        let keys = self.keys.into_iter().take(MAX_KEYS);
        let keys = keys.filter_map(|key| serde_json::from_value::<Jwk>(key).ok());
        keys.filter_map(PublicKey::of).collect()
    }
}

impl PublicKey {
    fn of(jwk: Jwk) -> Option<Self> {
        if jwk.usage.is_some_and(|usage| usage != "sig") {
            return None;
        }
        let bytes = |text: Option<String>| BASE64.decode(text?).ok();
        let kind = match (&*jwk.kty, jwk.crv.as_deref()) {
            ("RSA", _) => Kind::Rsa {
                n: without_zeros(&bytes(jwk.n)?),
                e: without_zeros(&bytes(jwk.e)?),
            },
            ("EC", Some("P-256")) => {
                let (x, y) = (bytes(jwk.x)?, bytes(jwk.y)?);
                let is_whole = x.len() == 32 && y.len() == 32;
                Kind::P256(is_whole.then(|| [vec![4], x, y].concat())?)
            }
            ("OKP", Some("Ed25519")) => Kind::Ed25519(bytes(jwk.x)?),
            _ => return None,
        };
        let key = Self { id: jwk.kid, kind };
        let is_of_kind = jwk
            .alg
            .is_none_or(|alg| Algorithm::named(&alg) == Some(key.algorithm()));
        is_of_kind.then_some(key)
    }

    /// The only way in which it signs.
    pub(super) fn algorithm(&self) -> Algorithm {
        match self.kind {
            Kind::Rsa { .. } => Algorithm::Rs256,
            Kind::P256(_) => Algorithm::Es256,
            Kind::Ed25519(_) => Algorithm::EdDsa,
        }
    }

    /// Whether it signed a message.
    pub(super) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        let checked = match &self.kind {
            Kind::Rsa { n, e } => RsaPublicKeyComponents { n, e }.verify(
                &RSA_PKCS1_2048_8192_SHA256,
                message,
                signature,
            ),
            Kind::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            Kind::Ed25519(point) => {
                UnparsedPublicKey::new(&ED25519, point).verify(message, signature)
            }
        };
        checked.is_ok()
    }
}

/// A number without zeros before it, which ring refuses and some providers write.
fn without_zeros(bytes: &[u8]) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes[zeros..].to_vec()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// The key and the signature of RFC 8037, A.4.
    const X: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
    const MESSAGE: &str = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
    const SIGNATURE: &str =
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";

    fn keys(keys: &Value) -> Vec<PublicKey> {
        let set: KeySet = serde_json::from_value(json!({ "keys": keys })).unwrap();
        set.public_keys()
    }

    #[test]
    fn the_signature_of_the_standard_is_right_and_no_other_is() {
        let keys = keys(&json!([{"kty": "OKP", "crv": "Ed25519", "x": X}]));
        let signature = BASE64.decode(SIGNATURE).unwrap();
        assert_eq!(keys[0].algorithm(), Algorithm::EdDsa);
        assert!(keys[0].has_signed(MESSAGE.as_bytes(), &signature));
        assert!(!keys[0].has_signed(&MESSAGE.as_bytes()[1..], &signature));
        assert!(!keys[0].has_signed(MESSAGE.as_bytes(), &signature[1..]));
        assert!(!keys[0].has_signed(MESSAGE.as_bytes(), b""));
    }

    #[test]
    fn a_key_that_signs_no_tokens_or_in_another_way_is_none_and_hides_no_other() {
        let good = json!({"kty": "OKP", "crv": "Ed25519", "x": X, "alg": "EdDSA", "kid": "good", "use": "sig"});
        for (name, value) in [
            ("use", json!("enc")),
            ("alg", json!("RS256")),
            ("crv", json!("Ed448")),
            ("kty", json!("oct")),
            ("kty", json!(7)),
            ("x", json!("not base64!")),
            ("x", Value::Null),
        ] {
            let mut bad = good.clone();
            bad[name] = value.clone();
            let found = keys(&json!([bad, "no key", good]));
            assert_eq!(found.len(), 1, "{name} {value}");
            assert_eq!(found[0].id.as_deref(), Some("good"));
        }
        assert!(keys(&json!([{"kty": "EC", "crv": "P-256", "x": X, "y": "AA"}])).is_empty());
    }

    proptest! {
        #[test]
        fn no_document_makes_a_key_that_signed_something(text in "\\PC{0,80}", n in "[A-Za-z0-9_-]{0,400}") {
            if let Ok(set) = serde_json::from_str::<KeySet>(&text) {
                set.public_keys();
            }
            for key in keys(&json!([{"kty": "RSA", "n": n, "e": "AQAB"}, {"kty": "OKP", "crv": "Ed25519", "x": n}])) {
                prop_assert!(!key.has_signed(b"a message", b"a signature"));
            }
        }
    }
}
