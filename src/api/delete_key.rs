//! `DELETE /auth/keys/{id}`: ends a key.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;

use super::authentication::KeyOwner;
use crate::accounts::Accounts;
#[cfg(test)]
use crate::http::documented::{ErrorBody, NeedsDatabase, NeedsToken};
use crate::http::{ApiError, ClientAddress};

/// Revoke a key.
///
/// Once this is answered, no instance accepts it.
#[utoipa::path(
    delete, path = "/auth/keys/{id}", tag = "accounts", operation_id = "delete_key", params(("id" = i64, Path, description = "Identifier of a key", example = 1, minimum = 1)),
    security(("bearer" = [])),
    responses(
        (status = 204, description = "The key has ended"),
        (status = 404, description = "No key of yours has this identifier", body = ErrorBody,
            example = json!({"detail": "Key not found"})),
        NeedsToken, NeedsDatabase,
    ),
)]
pub(super) async fn delete_key(
    State(accounts): State<Arc<Accounts>>,
    KeyOwner(owner): KeyOwner,
    client: ClientAddress,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    // No key has the number 0.
    let id = id.parse().unwrap_or_default();
    if accounts.delete_key(client.as_str(), owner, id).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(ApiError::key_not_found())
    }
}
