//! Values as JSON bodies.

use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// The type of a JSON body.
pub const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A value as the body of a response.
pub struct Json<T>(pub T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        ([(CONTENT_TYPE, JSON)], json_line(&self.0)).into_response()
    }
}

/// A value as JSON, with a newline at its end: in a terminal the next prompt stands on a line of its own.
#[must_use]
pub fn json_line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).expect("bodies are made of JSON's own types");
    line.push(b'\n');
    line
}
