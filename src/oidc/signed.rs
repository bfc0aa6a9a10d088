//! A signed token (RFC 7515), in the compact form.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::fault::TokenFault;
use super::keys::{Algorithm, PublicKey};

/// Longest token that is read.
const MAX_BYTES: usize = 64 * 1024;

/// Keys that are tried with a token that names no key.
const MAX_TRIES: usize = 4;

/// A token whose signature is not checked yet.
pub(super) struct Signed<'a> {
    message: &'a str,
    payload: &'a str,
    signature: Vec<u8>,
    algorithm: Algorithm,
    key_id: Option<String>,
    /// What kind of token it says that it is.
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<IgnoredAny>,
}

impl<'a> Signed<'a> {
    pub(super) fn parse(token: &'a str) -> Result<Self, TokenFault> {
        if token.len() > MAX_BYTES {
            return Err(TokenFault::Malformed);
        }
        let (message, signature) = token.rsplit_once('.').ok_or(TokenFault::Malformed)?;
        let (header, payload) = message.split_once('.').ok_or(TokenFault::Malformed)?;
        let bytes = |text: &str| BASE64.decode(text).map_err(|_| TokenFault::Malformed);
        let header: Header =
            serde_json::from_slice(&bytes(header)?).map_err(|_| TokenFault::Malformed)?;
        let Some(algorithm) = Algorithm::named(&header.alg) else {
            let shown: String = header
                .alg
                .chars()
                .filter(char::is_ascii_alphanumeric)
                .take(16)
                .collect();
            return Err(TokenFault::Algorithm(format!("`{shown}`")));
        };
        if header.crit.is_some() {
            return Err(TokenFault::Extension);
        }
        Ok(Self {
            message,
            payload,
            signature: bytes(signature)?,
            algorithm,
            key_id: header.kid,
            kind: header.typ,
        })
    }

    /// What kind of token it says that it is.
    pub(super) fn kind(&self) -> Option<&str> {
        self.kind.as_deref()
    }

    /// What it says, if one of these keys signed it.
    pub(super) fn claims<T: DeserializeOwned>(&self, keys: &[PublicKey]) -> Result<T, TokenFault> {
        let may_be = |key: &&PublicKey| {
            let is_named = self.key_id.is_none() || self.key_id == key.id;
            is_named && key.algorithm() == self.algorithm
        };
        let mut tried = keys.iter().filter(may_be).take(MAX_TRIES).peekable();
        if tried.peek().is_none() {
            return Err(TokenFault::UnknownKey);
        }
        if !tried.any(|key| key.has_signed(self.message.as_bytes(), &self.signature)) {
            // A token that names no key may be signed by a new one.
            return Err(match self.key_id {
                Some(_) => TokenFault::Signature,
                None => TokenFault::UnknownKey,
            });
        }
        let payload = BASE64.decode(self.payload);
        let payload = payload.map_err(|_| TokenFault::Malformed)?;
        serde_json::from_slice(&payload).map_err(|_| TokenFault::Malformed)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn token(header: &Value) -> String {
        format!("{}.e30.AA", BASE64.encode(header.to_string()))
    }

    #[test]
    fn a_token_is_signed_in_one_of_three_ways_or_refused_by_the_name_of_its_way() {
        for name in ["RS256", "ES256", "EdDSA", "Ed25519"] {
            assert!(
                Signed::parse(&token(&json!({"alg": name}))).is_ok(),
                "{name}"
            );
        }
        for name in [
            "none", "None", "HS256", "RS384", "PS256", "ES256K", "rs256", "",
        ] {
            let refused = Signed::parse(&token(&json!({"alg": name}))).err();
            assert_eq!(refused, Some(TokenFault::Algorithm(format!("`{name}`"))));
        }
        let extended = token(&json!({"alg": "ES256", "crit": ["b64"]}));
        assert_eq!(Signed::parse(&extended).err(), Some(TokenFault::Extension));
    }

    proptest! {
        #[test]
        fn no_text_is_believed_without_a_key(text in prop_oneof!["\\PC{0,60}", "[A-Za-z0-9_-]{0,40}\\.[A-Za-z0-9_-]{0,40}\\.[A-Za-z0-9_-]{0,40}"]) {
            if let Ok(signed) = Signed::parse(&text) {
                prop_assert_eq!(signed.claims::<Value>(&[]).err(), Some(TokenFault::UnknownKey));
            }
        }
    }
}
