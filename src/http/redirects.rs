//! A redirect as a response.

use axum::http::header::{CACHE_CONTROL, HeaderName, LOCATION};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::domain::Location;
use crate::redirect::{Fallback, Redirected};

/// Asks search engines not to list a short link.
pub(super) const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");

impl IntoResponse for Redirected {
    fn into_response(self) -> Response {
        found(self.location(), "private, no-store", self.noindex())
    }
}

impl IntoResponse for Fallback {
    fn into_response(self) -> Response {
        found(self.location(), "no-store", self.noindex())
    }
}

fn found(location: &Location, cached: &'static str, noindex: bool) -> Response {
    let location = HeaderValue::from_str(location.as_str())
        .expect("a Location holds nothing that a header may not carry");
    let headers = [
        (LOCATION, location),
        (CACHE_CONTROL, HeaderValue::from_static(cached)),
    ];
    let mut response = (StatusCode::FOUND, headers).into_response();
    if noindex {
        let noindex = HeaderValue::from_static("noindex");
        response.headers_mut().insert(X_ROBOTS_TAG, noindex);
    }
    response
}
