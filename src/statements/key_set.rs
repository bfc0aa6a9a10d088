//! The public keys of a service as a JWK Set (RFC 7517, RFC 8037).

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::domain::StatementPublicKey;

/// Keys of a file that are read at most.
const MAX_KEYS: usize = 1_000;

/// The keys by which statements are checked.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct StatementKeySet {
    /// The keys that signed statements, and the key that signs now, which is the first.
    keys: Vec<StatementKeyBody>,
}

/// A key.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct StatementKeyBody {
    /// The kind of key.
    #[schema(example = "OKP")]
    kty: &'static str,
    /// The curve.
    #[schema(example = "Ed25519")]
    crv: &'static str,
    /// How it signs.
    #[schema(example = "EdDSA")]
    alg: &'static str,
    /// What it is for.
    #[serde(rename = "use")]
    #[schema(example = "sig")]
    usage: &'static str,
    /// Its name: its thumbprint (RFC 7638).
    #[schema(example = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")]
    kid: String,
    /// The public key in base64url.
    #[schema(example = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")]
    x: String,
}

impl StatementKeySet {
    /// The set of these keys.
    #[must_use]
    pub fn new(keys: &[StatementPublicKey]) -> Self {
        let body = |key: &StatementPublicKey| StatementKeyBody {
            kty: "OKP",
            crv: "Ed25519",
            alg: "EdDSA",
            usage: "sig",
            kid: key.id(),
            x: key.text(),
        };
        Self {
            keys: keys.iter().map(body).collect(),
        }
    }
}

/// The keys in a set that can have signed statements; others are passed over. `None` if it is no JWK Set.
#[must_use]
pub fn keys_in(set: &[u8]) -> Option<Vec<StatementPublicKey>> {
    #[derive(Deserialize)]
    struct Set {
        keys: Vec<Value>,
    }
    #[derive(Deserialize)]
    struct Jwk {
        kty: String,
        crv: String,
        x: String,
    }
    let set: Set = serde_json::from_slice(set).ok()?;
    let keys = set.keys.into_iter().take(MAX_KEYS);
    let keys = keys.filter_map(|key| serde_json::from_value::<Jwk>(key).ok());
    let keys = keys.filter(|key| key.kty == "OKP" && key.crv == "Ed25519");
    // The name of a key is taken from the key, never from the file.
    Some(
        keys.filter_map(|key| StatementPublicKey::from_text(&key.x))
            .collect(),
    )
}
