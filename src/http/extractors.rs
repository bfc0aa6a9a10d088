//! Extractors: bad input becomes one readable sentence that names the field.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, BodyDataStream, HttpBody};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header::EXPECT;
use axum::http::request::Parts;
use futures_util::StreamExt;
use percent_encoding::percent_decode_str;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Map, Value};
use tokio::time::timeout;

use super::admitted::SMALL;
use super::paths::decoded_code;
use super::{Admitted, ApiError, CodesOf};
use crate::domain::{ShortCode, json_reason, unknown_name};
use crate::limits::{ClientShare, Full};
use crate::telemetry::metrics::LIMIT_HITS;

/// Limits of a request's body; an extension of every request.
#[derive(Clone, Copy, Debug)]
pub struct BodyLimits {
    /// Bytes at most.
    pub bytes: usize,
    /// How long it may take to arrive.
    pub timeout: Duration,
}

impl Default for BodyLimits {
    /// The default limits.
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

/// A JSON body within [`BodyLimits`], whatever its `Content-Type`.
pub struct JsonBody<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let body = read_within_limits(request).await?;
        parse_object(&body).map(Self).map_err(ApiError::invalid)
    }
}

/// A JSON body that may be missing: an empty body, or an object without fields, counts as missing.
pub struct OptionalJsonBody<T>(pub Option<T>);

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for OptionalJsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let body = read_within_limits(request).await?;
        let is_empty = body.iter().all(|byte| b" \t\r\n{}".contains(byte));
        if is_empty && matches!(body.trim_ascii(), [] | [b'{', .., b'}']) {
            return Ok(Self(None));
        }
        parse_object(&body)
            .map(Some)
            .map(Self)
            .map_err(ApiError::invalid)
    }
}

/// The value of a JSON object.
///
/// # Errors
/// A sentence that names the field, or the place where the JSON is broken.
pub fn parse_object<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    // serde would also take the fields as an array, in order.
    match body.trim_ascii_start().first() {
        None => return Err(format!("{NO_OBJECT}, but is empty")),
        Some(b'{') => {}
        Some(_) => {
            let other = serde_json::from_slice::<IgnoredAny>(body);
            return Err(other.map_or_else(|error| broken(&error), |_| NO_OBJECT.into()));
        }
    }
    let mut json = serde_json::Deserializer::from_slice(body);
    let value =
        serde_path_to_error::deserialize(&mut json).map_err(|error| sentence(&error, body))?;
    let more = |error: serde_json::Error| {
        let (line, column) = (error.line(), error.column());
        format!("body: must be one JSON object; more follows at line {line}, column {column}")
    };
    json.end().map_err(more)?;
    Ok(value)
}

/// Where a body stops being JSON, and why. serde's reason quotes nothing of the body, which may contain a password.
fn broken(error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let (why, _) = text.rsplit_once(" at line ").unwrap_or((&text, ""));
    let why = json_reason(why);
    format!("{NO_OBJECT}, but is malformed at line {line}, column {column}: {why}")
}

async fn read_within_limits(request: Request) -> Result<ReadBody, ApiError> {
    let limits = request.extensions().get().copied().unwrap_or_default();
    read_body(request, limits).await
}

/// A body that has come, and the room that it takes.
pub struct ReadBody {
    bytes: Vec<u8>,
    /// `None`: the request comes from a test, not from a client.
    room: Option<ClientShare>,
}

impl Deref for ReadBody {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The body of a request. The request has no permit while the body is on its way.
///
/// # Errors
/// 408 or 413 if the body breaks a limit; 429 or 503 if there are too many bodies, or too many bytes of them.
pub async fn read_body(request: Request, limits: BodyLimits) -> Result<ReadBody, ApiError> {
    // A client that expects `100 Continue` sends no body that is refused.
    let is_coming = !request.headers().contains_key(EXPECT);
    let admitted: Option<Arc<Admitted>> = request.extensions().get().cloned();
    let body = request.into_body();
    if body.is_end_stream() {
        return Ok(ReadBody {
            bytes: Vec::new(),
            room: None,
        });
    }
    let read = ReadBody {
        bytes: Vec::new(),
        room: admitted.as_ref().map(|admitted| admitted.room()),
    };
    let reading = async {
        timeout(limits.timeout, read.whole(body, is_coming, limits))
            .await
            .unwrap_or_else(|_| {
                metrics::counter!(LIMIT_HITS, "limit" => "body_time").increment(1);
                Err(ApiError::request_timeout())
            })
    };
    match &admitted {
        Some(admitted) => admitted.while_body_comes(reading).await,
        None => reading.await,
    }
}

impl ReadBody {
    /// Only the room, for what was made of the body.
    #[must_use]
    pub fn into_room(self) -> Option<ClientShare> {
        self.room
    }

    /// Reads the body; it takes room as its bytes come.
    async fn whole(
        mut self,
        body: Body,
        is_coming: bool,
        limits: BodyLimits,
    ) -> Result<Self, ApiError> {
        let refused = || {
            metrics::counter!(LIMIT_HITS, "limit" => "body_size").increment(1);
            ApiError::too_large(limits.bytes)
        };
        // A body whose announced length is too large is refused before it is read.
        let length = body.size_hint().lower();
        let mut pieces = body.into_data_stream();
        if length > limits.bytes as u64 {
            if is_coming && length <= (limits.bytes + MAX_DRAINED) as u64 {
                let _ = timeout(DRAIN_TIMEOUT, drain(pieces)).await;
            }
            return Err(refused());
        }
        while let Some(piece) = pieces.next().await {
            let piece =
                piece.map_err(|_| ApiError::invalid("body: could not be read to its end"))?;
            if self.bytes.len() + piece.len() > limits.bytes {
                let _ = timeout(DRAIN_TIMEOUT, drain(pieces)).await;
                return Err(refused());
            }
            if let Err(full) = self.take_room(piece.len()) {
                let _ = timeout(DRAIN_TIMEOUT, drain(pieces)).await;
                return Err(full.into());
            }
            self.bytes.extend_from_slice(&piece);
        }
        Ok(self)
    }

    fn take_room(&mut self, more: usize) -> Result<(), Full> {
        match &mut self.room {
            Some(room) if self.bytes.len() + more <= SMALL => {
                room.add_anyway(more);
                Ok(())
            }
            Some(room) => room.add(more),
            None => Ok(()),
        }
    }
}

/// Reads and drops a part of the body: a client that is still sending when it is refused would see its connection break
/// instead of the response.
async fn drain(mut pieces: BodyDataStream) {
    let mut drained = 0;
    while let Some(Ok(piece)) = pieces.next().await {
        drained += piece.len();
        if drained > MAX_DRAINED {
            break;
        }
    }
}

/// `email: field is required`, `password: must be a string`, `body: …`.
fn sentence(error: &serde_path_to_error::Error<serde_json::Error>, body: &[u8]) -> String {
    let path = error.path().to_string();
    let fault = error.inner().to_string();
    if !error.inner().is_data() {
        // JSON may write half a character; text may not have one.
        return if fault.contains("hex escape") && path != "." {
            format!("{path}: must be whole characters")
        } else {
            broken(error.inner())
        };
    }
    // The position in the text adds nothing to the field's name.
    let fault = fault.split(" at line ").next().unwrap_or_default();
    let field = if path == "." { "body" } else { &path };
    if let Some(unknown) = fault.strip_prefix("unknown field `") {
        return unknown_field(unknown, &fields_of(body));
    }
    // serde quotes the value: it is the client's own, and perhaps a password.
    if let Some((_, expected)) = fault.rsplit_once(", expected ") {
        return format!("{field}: must be {}", in_words(expected));
    }
    field_error(fault, "field is required", &[]).unwrap_or_else(|| format!("{field}: {fault}"))
}

/// What serde expects, in the words of JSON.
fn in_words(expected: &str) -> String {
    match expected {
        "a sequence" => "an array".into(),
        "a map" => "an object".into(),
        "a JSON number" => "a number".into(),
        "a borrowed string" => "a string".into(),
        "i8" | "i16" | "i32" | "i64" | "u8" | "u16" | "u32" | "u64" | "usize" => {
            "a whole number".into()
        }
        _ if expected.starts_with("struct ") => "an object".into(),
        _ if expected.starts_with("tuple ") => "an array".into(),
        other => other.replace('`', ""),
    }
}

/// The names of all fields of an object.
fn fields_of(body: &[u8]) -> Vec<String> {
    let fields = serde_json::from_slice::<Map<String, Value>>(body);
    let fields = fields.unwrap_or_default().into_iter();
    fields.map(|(name, _)| name).collect()
}

/// The sentence for a field that is missing, given twice or unknown, in a request that has these.
fn field_error(fault: &str, missing: &str, given: &[String]) -> Option<String> {
    if let Some(unknown) = fault.strip_prefix("unknown field `") {
        return Some(unknown_field(unknown, given));
    }
    let field = |field: &str, sentence| format!("{}: {sentence}", field.trim_end_matches('`'));
    if let Some(name) = fault.strip_prefix("missing field `") {
        return Some(field(name, missing));
    }
    let name = fault.strip_prefix("duplicate field `")?;
    Some(field(name, "must be given only once"))
}

/// The sentence for an unknown field. serde names all that are known.
fn unknown_field(fault: &str, given: &[String]) -> String {
    let (name, expected) = fault.split_once('`').unwrap_or((fault, ""));
    unknown_name(name, expected.split('`').skip(1).step_by(2), given)
}

/// Query parameters.
pub struct QueryOf<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for QueryOf<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let query = parts.uri.query().unwrap_or_default();
        // A parameter that is not UTF-8 must not be stored as other text.
        if let Some(field) = field_without_utf8(query) {
            return Err(ApiError::invalid(format!(
                "{field}: must be UTF-8, percent-encoded"
            )));
        }
        let deserializer =
            serde_urlencoded::Deserializer::new(url::form_urlencoded::parse(query.as_bytes()));
        serde_path_to_error::deserialize(deserializer)
            .map(Self)
            .map_err(|error| {
                ApiError::invalid(query_sentence(
                    &error.path().to_string(),
                    &error.into_inner().to_string(),
                    query,
                ))
            })
    }
}

/// The first parameter that is not UTF-8; `query` if its name is not UTF-8, either.
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

fn query_sentence(path: &str, fault: &str, query: &str) -> String {
    let field = if path == "." { "query" } else { path };
    let given = url::form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name.into_owned());
    let given: Vec<_> = given.collect();
    if let Some(sentence) = field_error(fault, "query parameter is required", &given) {
        return sentence;
    }
    if let Some((_, expected)) = fault.rsplit_once(", expected ") {
        return format!("{field}: must be {}", in_words(expected));
    }
    // The rest are texts of the standard library, about numbers and truth values.
    let expected = match fault {
        _ if fault.contains("`true` or `false`") => "true or false",
        _ if fault.contains("float") => "a number",
        _ if fault.contains("digit") || fault.contains("integer") || fault.contains("number") => {
            "a whole number within the limits that /openapi.json gives"
        }
        _ => "in the form that /openapi.json gives",
    };
    format!("{field}: must be {expected}")
}

/// The short code in a path; `None` if the path has no code there.
pub struct PathCode(pub Option<ShortCode>);

impl<S: Sync> FromRequestParts<S> for PathCode {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        // Read from the raw path: a code that is not UTF-8 is unknown, and not an error.
        let code = decoded_code(parts.uri.path());
        let codes = parts.extensions.get();
        Ok(Self(code.and_then(|code| CodesOf::place(codes, code))))
    }
}

#[cfg(test)]
mod tests;
