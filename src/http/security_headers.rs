//! What browsers are told of answers: data is not to be guessed at, framed, run or kept.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::response::Response;

/// On every answer that says nothing else of itself.
pub(super) const SECURITY_HEADERS: [(HeaderName, HeaderValue); 4] = [
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"),
    ),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// The same as lines of a head, for answers that no router gives.
#[must_use]
pub fn security_header_lines() -> String {
    let line = |(name, value): &(HeaderName, HeaderValue)| {
        format!("{name}: {}\r\n", value.to_str().unwrap_or_default())
    };
    SECURITY_HEADERS.iter().map(line).collect()
}

/// Adds the security headers; what an answer says of itself stays. A redirect has nothing to show.
pub async fn with_security_headers(mut response: Response) -> Response {
    if !response.status().is_redirection() {
        for (name, value) in SECURITY_HEADERS {
            response.headers_mut().entry(name).or_insert(value);
        }
    }
    response
}
