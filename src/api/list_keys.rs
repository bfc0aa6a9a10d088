//! `GET /auth/keys`: the keys of the token's account.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::authentication::KeyOwner;
use super::key_body::KeyFields;
use crate::accounts::Accounts;
#[cfg(test)]
use crate::http::documented::{NeedsDatabase, NeedsToken};
use crate::http::{ApiError, Json};

/// A key, without its text.
#[derive(Serialize, ToSchema)]
pub(super) struct KeyBody {
    #[serde(flatten)]
    fields: KeyFields,
    /// The last day on which it was used, in UTC.
    #[schema(required = true, example = "2027-01-31", format = Date)]
    last_used_on: Option<String>,
}

/// List your keys.
///
/// Newest first, without the keys themselves, which only you have.
#[utoipa::path(
    get, path = "/auth/keys", tag = "accounts", operation_id = "list_keys", security(("bearer" = [])),
    responses((status = 200, description = "The keys", body = Vec<KeyBody>), NeedsToken, NeedsDatabase),
)]
pub(super) async fn list_keys(
    State(accounts): State<Arc<Accounts>>,
    KeyOwner(owner): KeyOwner,
) -> Result<Json<Vec<KeyBody>>, ApiError> {
    let keys = accounts.keys(owner).await?;
    let bodies = keys.into_iter().map(|key| KeyBody {
        fields: KeyFields::new(&key),
        last_used_on: key.last_used_on,
    });
    Ok(Json(bodies.collect()))
}
