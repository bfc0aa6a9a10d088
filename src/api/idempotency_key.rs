//! The `Idempotency-Key` header, with which a request may be repeated safely.

use axum::http::HeaderMap;

use crate::http::ApiError;

/// Its name.
pub(super) const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// The key of a request, if it has one.
pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let mut given = headers.get_all(IDEMPOTENCY_KEY).iter();
    let key = match (given.next(), given.next()) {
        (None, _) => return Ok(None),
        (Some(key), None) => key.to_str().ok(),
        (Some(_), Some(_)) => None,
    };
    let is_key = |key: &&str| {
        (1..=255).contains(&key.len()) && key.bytes().all(|byte| (b' '..=b'~').contains(&byte))
    };
    key.filter(is_key)
        .map(str::to_owned)
        .map(Some)
        .ok_or_else(|| {
            ApiError::invalid(
                "Idempotency-Key: must be one value of 1 to 255 printable ASCII characters",
            )
        })
}
