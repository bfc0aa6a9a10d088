//! Responses when no handler gives a response: unknown paths, unknown methods, panics.

use std::any::Any;

use axum::response::{IntoResponse, Response};

use super::ApiError;

/// Unknown path.
pub async fn not_found() -> ApiError {
    ApiError::not_found()
}

/// Known path, other methods; the router adds `Allow`.
pub async fn method_not_allowed() -> ApiError {
    ApiError::method_not_allowed()
}

/// A handler panicked: a defect that ends one request, not the service.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the signature that tower-http asks for"
)]
pub fn panicked(panic: Box<dyn Any + Send>) -> Response {
    let message = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a message");
    ApiError::internal(message).into_response()
}
