//! Where a browser's request comes from: a page of another site can send a request that needs neither preflight nor token.
//!
//! Browsers say so in headers that no page can set. Other programs send neither of them, and are not asked.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::ORIGIN;
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::ApiError;

/// Whether a request comes from a page of the service's at `base_url`, from the browser's user, or from no browser.
///
/// A page on the same site but another host is foreign: others than the service may run it.
#[must_use]
pub fn is_same_origin(base_url: &str, headers: &HeaderMap) -> bool {
    let value = |name: &str| headers.get(name).map(HeaderValue::as_bytes);
    match value("sec-fetch-site") {
        Some(site) => matches!(site, b"same-origin" | b"none"),
        // Over plain HTTP, and before 2023, browsers name the origin only.
        None => value(ORIGIN.as_str()).is_none_or(|origin| origin == base_url.as_bytes()),
    }
}

/// Refuses what a page of another site makes a browser send, before its body is read.
pub async fn refuse_cross_origin(
    State(base_url): State<Arc<str>>,
    request: Request,
    next: Next,
) -> Response {
    if is_same_origin(&base_url, request.headers()) {
        next.run(request).await
    } else {
        ApiError::cross_origin().into_response()
    }
}
