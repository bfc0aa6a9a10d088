//! The API for pages of other origins, which the operator names: with a key or token that the page has, never with a cookie.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN,
    VARY,
};
use axum::http::{HeaderValue, Method, Request, StatusCode};
use axum::response::Response;

use super::paths::{Class, route_of};
use super::with_security_headers;
use crate::config::Origin;

/// Paths that begin so, redirects excepted.
const PREFIXES: [&str; 3] = ["/urls/", "/api/v2/", "/rest/"];

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");
const REQUEST_HEADERS: HeaderValue =
    HeaderValue::from_static("Authorization, Content-Type, Idempotency-Key, If-Match, X-API-KEY");
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "Clicks-As-Of, Content-Disposition, ETag, Link, Retry-After, WWW-Authenticate, X-Request-Id",
);
/// How long a browser may keep the answer to a preflight: two hours, which is the most that Chromium takes.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");

/// The origins whose pages may use the API; cheap to clone.
#[derive(Clone, Default)]
pub struct Cors(Arc<[HeaderValue]>);

/// What the browser is told beside the response to a request.
pub struct Sharing {
    /// The origin that may read the response.
    origin: Option<HeaderValue>,
    is_preflight: bool,
}

impl Cors {
    /// For these origins.
    #[must_use]
    pub fn new(origins: &[Origin]) -> Self {
        let headers = origins.iter();
        let headers = headers.filter_map(|origin| HeaderValue::from_str(origin.as_str()).ok());
        Self(headers.collect())
    }

    /// What to tell beside the response to a request; `None` for a path that other origins never use.
    #[must_use]
    pub fn of<B>(&self, request: &Request<B>) -> Option<Sharing> {
        if self.0.is_empty() || !is_shared(request.uri().path()) {
            return None;
        }
        let headers = request.headers();
        let origin = headers.get(ORIGIN).filter(|origin| self.0.contains(origin));
        Some(Sharing {
            origin: origin.cloned(),
            is_preflight: request.method() == Method::OPTIONS
                && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD),
        })
    }
}

/// Whether pages of other origins may use a path. A redirect is as it is without them.
fn is_shared(path: &str) -> bool {
    let is_redirect = || route_of(path).is_some_and(|route| route.class == Class::Redirect);
    PREFIXES.iter().any(|prefix| path.starts_with(prefix)) && !is_redirect()
}

impl Sharing {
    /// The answer to a browser that asks before it sends the request; `None` if this is the request itself, or of another origin.
    pub async fn preflight(&self) -> Option<Response> {
        if !self.is_preflight || self.origin.is_none() {
            return None;
        }
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, REQUEST_HEADERS);
        headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
        Some(with_security_headers(response).await)
    }

    /// The response with the headers that let the page read it. No header lets the browser send cookies.
    #[must_use]
    pub fn on(self, mut response: Response) -> Response {
        let headers = response.headers_mut();
        headers.append(VARY, HeaderValue::from_static("Origin"));
        if let Some(origin) = self.origin {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        }
        response
    }
}
