//! A redirect as a response.

use axum::http::header::{CACHE_CONTROL, HeaderName, LOCATION};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::redirect::Redirected;

/// Asks search engines not to list a short link.
const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");

impl IntoResponse for Redirected {
    fn into_response(self) -> Response {
        let location = HeaderValue::from_str(self.location().as_str())
            .expect("a Location holds nothing that a header may not carry");
        let headers = [
            (LOCATION, location),
            (CACHE_CONTROL, HeaderValue::from_static("private, no-store")),
        ];
        let mut response = (StatusCode::FOUND, headers).into_response();
        if self.noindex() {
            let noindex = HeaderValue::from_static("noindex");
            response.headers_mut().insert(X_ROBOTS_TAG, noindex);
        }
        response
    }
}
