//! A redirect as a response.

use axum::http::header::{CACHE_CONTROL, LOCATION};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::redirect::Redirected;

impl IntoResponse for Redirected {
    fn into_response(self) -> Response {
        let location = HeaderValue::from_str(self.location().as_str())
            .expect("a Location holds nothing that a header may not carry");
        let headers = [
            (LOCATION, location),
            (CACHE_CONTROL, HeaderValue::from_static("private, no-store")),
        ];
        (StatusCode::FOUND, headers).into_response()
    }
}
