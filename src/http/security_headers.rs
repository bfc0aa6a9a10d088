//! Headers that protect browsers: a response is not sniffed, framed, run as a script or cached.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::response::Response;

/// The headers of every response that has no values of its own for them.
pub(super) const SECURITY_HEADERS: [(HeaderName, HeaderValue); 4] = [
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"),
    ),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// The same headers as lines, for responses that are written without the router.
#[must_use]
pub fn security_header_lines() -> String {
    let line = |(name, value): &(HeaderName, HeaderValue)| {
        format!("{name}: {}\r\n", value.to_str().unwrap_or_default())
    };
    SECURITY_HEADERS.iter().map(line).collect()
}

/// Adds the security headers that a response lacks. A redirect has no content to protect.
pub async fn with_security_headers(mut response: Response) -> Response {
    if !response.status().is_redirection() {
        for (name, value) in SECURITY_HEADERS {
            response.headers_mut().entry(name).or_insert(value);
        }
    }
    response
}
