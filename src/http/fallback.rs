//! Responses when no handler gives a response: unknown paths, unknown methods, panics.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;

use super::ApiError;

/// Unknown path.
pub async fn not_found() -> ApiError {
    ApiError::not_found()
}

/// Known path, other methods; the router adds `Allow`.
pub async fn method_not_allowed() -> ApiError {
    ApiError::method_not_allowed()
}

/// Answers where a handler panics: a defect that ends one request, not the service.
pub async fn catch_panic(request: Request, next: Next) -> Response {
    let handled = AssertUnwindSafe(async move { next.run(request).await });
    match handled.catch_unwind().await {
        Ok(response) => response,
        Err(panic) => panicked(&*panic),
    }
}

fn panicked(panic: &(dyn Any + Send)) -> Response {
    let message = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a message");
    ApiError::internal(message).into_response()
}
