//! `DELETE /admin/removals/{id}`: revokes a removal.

use std::sync::Arc;

use axum::extract::{Path, State};

#[cfg(test)]
use super::NeedsRole;
use super::removal_body::RemovalBody;
use crate::abuse::Abuse;
use crate::api::authentication::Admin;
use crate::api::base_address::BaseAddress;
use crate::domain::RemovalId;
#[cfg(test)]
use crate::http::documented::{ErrorBody, NeedsDatabase, NeedsToken};
use crate::http::removals::settle;
use crate::http::{ApiError, Json};
use crate::links::LinkService;

/// Revoke a removal.
///
/// Its links work again, unless another removal covers them or their owners paused them. If a host, an account or an
/// address has very many links, the rest is restored in the background. An account may log in again; its keys stay revoked.
/// What the blocklist removes comes back when its line goes.
#[utoipa::path(
    delete, path = "/admin/removals/{id}", tag = "administration", operation_id = "revoke_removal",
    params(("id" = i64, Path, description = "Identifier of a removal", example = 7, minimum = 1)),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The removal", body = RemovalBody),
        (status = 404, description = "No removal in force has this identifier", body = ErrorBody,
            example = json!({"detail": "Removal not found"})),
        NeedsToken, NeedsRole, NeedsDatabase,
    ),
)]
pub(in crate::api) async fn revoke_removal(
    State(abuse): State<Arc<Abuse>>,
    State(links): State<Arc<LinkService>>,
    State(base_address): State<BaseAddress>,
    Admin(administrator): Admin,
    Path(id): Path<String>,
) -> Result<Json<RemovalBody>, ApiError> {
    // No removal has the number 0.
    let id = RemovalId(id.parse().unwrap_or_default());
    let revoked = abuse.revoke(&administrator, id).await;
    let revoked = revoked.map_err(|error| match error {
        crate::abuse::AbuseError::Unknown => ApiError::removal_not_found(),
        error => error.into(),
    })?;
    let removal = settle(&abuse, &links, revoked).await;
    Ok(Json(RemovalBody::new(&removal, &base_address)))
}
