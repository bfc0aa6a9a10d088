//! Tokens that are put together by hand, so that the service's own are not compared with themselves.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::hmac::{Algorithm, Key, sign};
use serde_json::Value;

/// A part of a token.
pub(crate) fn encoded(text: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(text)
}

/// A part of a token, decoded.
pub(crate) fn decoded(part: &str) -> Value {
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

/// The claims of a token.
pub(crate) fn claims_of(token: &str) -> Value {
    decoded(token.split('.').nth(1).unwrap())
}

/// A token with any header and any claims, signed by HMAC with any key.
pub(crate) fn signed_token(
    header: &str,
    claims: impl AsRef<[u8]>,
    key: &[u8],
    algorithm: Algorithm,
) -> String {
    let message = format!("{}.{}", encoded(header), encoded(claims));
    let signature = sign(&Key::new(algorithm, key), message.as_bytes());
    format!("{message}.{}", encoded(signature))
}
