//! Extractors: bad input becomes one readable sentence that names the field.

use std::time::Duration;

use axum::body::{Body, BodyDataStream, HttpBody};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header::EXPECT;
use axum::http::request::Parts;
use futures_util::StreamExt;
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;
use tokio::time::timeout;
use utoipa::IntoParams;

use super::ApiError;
use super::paths::{code_segment, parse_code};
use crate::domain::ShortCode;
use crate::telemetry::metrics::LIMIT_HITS;

/// What a client may send as a body; an extension of every request.
#[derive(Clone, Copy, Debug)]
pub struct BodyLimits {
    /// Bytes at most.
    pub bytes: usize,
    /// How long it may take to arrive.
    pub timeout: Duration,
}

impl Default for BodyLimits {
    /// The contract's size, for account routes.
    fn default() -> Self {
        Self {
            bytes: 16 * 1024,
            timeout: Duration::from_secs(10),
        }
    }
}

/// How many bytes of a body that is too long are read and dropped, and for how long.
const MAX_DRAINED: usize = 256 * 1024;
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

const NO_OBJECT: &str = "body: must be a JSON object";

/// A JSON body within [`BodyLimits`]. What parses is taken, whatever `Content-Type` says.
pub struct JsonBody<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let limits: BodyLimits = request.extensions().get().copied().unwrap_or_default();
        // Who asks first whether to send it sends nothing that is refused.
        let is_coming = !request.headers().contains_key(EXPECT);
        let body = timeout(limits.timeout, read(request.into_body(), is_coming, limits))
            .await
            .unwrap_or_else(|_| {
                metrics::counter!(LIMIT_HITS, "limit" => "body_time").increment(1);
                Err(ApiError::request_timeout())
            })?;
        // serde would also take the fields as an array, in order.
        if !body.trim_ascii_start().starts_with(b"{") {
            return Err(ApiError::invalid(NO_OBJECT));
        }
        let mut json = serde_json::Deserializer::from_slice(&body);
        match serde_path_to_error::deserialize(&mut json) {
            Ok(value) => match json.end() {
                Ok(()) => Ok(Self(value)),
                Err(_) => Err(ApiError::invalid("body: must be one JSON object")),
            },
            Err(error) => Err(ApiError::invalid(sentence(&error))),
        }
    }
}

async fn read(body: Body, is_coming: bool, limits: BodyLimits) -> Result<Vec<u8>, ApiError> {
    let refused = || {
        metrics::counter!(LIMIT_HITS, "limit" => "body_size").increment(1);
        ApiError::too_large(limits.bytes)
    };
    // What says that it is longer is refused before it comes, or while it does.
    let length = body.size_hint().lower();
    let mut pieces = body.into_data_stream();
    if length > limits.bytes as u64 {
        if is_coming && length <= (limits.bytes + MAX_DRAINED) as u64 {
            let _ = timeout(DRAIN_TIMEOUT, drain(pieces)).await;
        }
        return Err(refused());
    }
    let mut read = Vec::new();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| ApiError::invalid("body: could not be read to its end"))?;
        if read.len() + piece.len() > limits.bytes {
            let _ = timeout(DRAIN_TIMEOUT, drain(pieces)).await;
            return Err(refused());
        }
        read.extend_from_slice(&piece);
    }
    Ok(read)
}

/// Throws away some of what comes: a client that is still sending when it is refused would see its
/// connection break instead of the answer.
async fn drain(mut pieces: BodyDataStream) {
    let mut heard = 0;
    while let Some(Ok(piece)) = pieces.next().await {
        heard += piece.len();
        if heard > MAX_DRAINED {
            break;
        }
    }
}

/// `email: field is required`, `password: must be a string`, `body: …`.
fn sentence(error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    let path = error.path().to_string();
    let fault = error.inner().to_string();
    // Where in the text it is tells a program's author nothing that the field does not.
    let fault = fault.split(" at line ").next().unwrap_or_default();
    if !error.inner().is_data() {
        // JSON may write half a character; text may not have one.
        return if fault.contains("hex escape") && path != "." {
            format!("{path}: must be whole characters")
        } else {
            NO_OBJECT.into()
        };
    }
    let place = if path == "." { "body" } else { &path };
    // serde says what came: that is the client's own, and perhaps a password.
    if let Some((_, expected)) = fault.rsplit_once(", expected ") {
        return format!("{place}: must be {expected}");
    }
    field_error(fault, "field is required").unwrap_or_else(|| format!("{place}: {fault}"))
}

/// What serde says of a field that is not there, or twice.
fn field_error(fault: &str, missing: &str) -> Option<String> {
    let field = |field: &str, sentence| format!("{}: {sentence}", field.trim_end_matches('`'));
    if let Some(name) = fault.strip_prefix("missing field `") {
        return Some(field(name, missing));
    }
    let name = fault.strip_prefix("duplicate field `")?;
    Some(field(name, "must be given once"))
}

/// Query parameters.
pub struct QueryOf<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for QueryOf<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let query = parts.uri.query().unwrap_or_default();
        // A parameter is text in whatever encoding; what is no UTF-8 must not be stored as something else.
        if let Some(field) = field_without_utf8(query) {
            return Err(ApiError::invalid(format!(
                "{field}: must be UTF-8, percent-encoded"
            )));
        }
        let deserializer =
            serde_urlencoded::Deserializer::new(form_urlencoded::parse(query.as_bytes()));
        serde_path_to_error::deserialize(deserializer)
            .map(Self)
            .map_err(|error| {
                ApiError::invalid(query_sentence(
                    &error.path().to_string(),
                    &error.into_inner().to_string(),
                ))
            })
    }
}

/// Where a query is no text: the first parameter that is none, or `query` where that has no name, either.
fn field_without_utf8(query: &str) -> Option<&str> {
    let is_text = |raw: &str| percent_decode_str(raw).decode_utf8().is_ok();
    let pair = query.split('&').find(|pair| !is_text(pair))?;
    let name = pair.split('=').next().unwrap_or_default();
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    Some(if is_name { name } else { "query" })
}

fn query_sentence(path: &str, fault: &str) -> String {
    let place = if path == "." { "query" } else { path };
    field_error(fault, "query parameter is required").unwrap_or_else(|| format!("{place}: {fault}"))
}

/// A code in a path, as the document tells of it.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub struct CodeParameter {
    /// Code of a link.
    #[param(example = "K7mXq2R", pattern = "^[A-Za-z0-9_-]{1,64}$")]
    #[expect(dead_code, reason = "`PathCode` reads it, from the raw path")]
    short_code: String,
}

/// What stands in a code's place; `None` when it can be no code.
pub struct PathCode(pub Option<ShortCode>);

impl<S: Sync> FromRequestParts<S> for PathCode {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        // Read from the raw path: a code that is no UTF-8 is unknown, not an error.
        let raw = code_segment(parts.uri.path()).unwrap_or_default();
        let decoded = percent_decode_str(raw).decode_utf8();
        Ok(Self(decoded.ok().and_then(|code| parse_code(&code))))
    }
}

#[cfg(test)]
mod tests;
