//! A redirect as a response.

use axum::http::header::{CACHE_CONTROL, HeaderName, LOCATION};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::domain::Location;
use crate::redirect::{Fallback, Redirected};

/// Asks search engines not to list a short link.
pub(super) const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");

/// How many rules a link has, where a response follows none of them.
pub const LINK_RULES: &str = "link-rules";

impl IntoResponse for Redirected {
    fn into_response(self) -> Response {
        let mut response = found(self.location(), "private, no-store", self.noindex());
        let rules = self.rules_left_out();
        if rules > 0 {
            let name = HeaderName::from_static(LINK_RULES);
            response.headers_mut().insert(name, rules.into());
        }
        response
    }
}

impl IntoResponse for Fallback {
    fn into_response(self) -> Response {
        found(self.location(), "no-store", self.noindex())
    }
}

/// A redirect that is no visit of a link.
#[must_use]
pub fn redirect_to(location: &Location) -> Response {
    found(location, "no-store", false)
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
