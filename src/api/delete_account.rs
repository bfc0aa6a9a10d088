//! `DELETE /auth/me`: deletes the account of the token.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::ToSchema;

use super::authentication::LoggedIn;
use crate::accounts::Accounts;
use crate::domain::{Password, UserId};
#[cfg(test)]
use crate::http::documented::{ErrorBody, Limited, NeedsDatabase, NeedsToken, TakesBody};
use crate::http::{ApiError, Asking, JsonBody};
use crate::links::LinkService;

/// Body of a deletion.
#[derive(Deserialize, ToSchema)]
pub(super) struct DeletionBody {
    /// The account's password.
    #[schema(example = "correct horse battery")]
    password: String,
    /// The number of a group that gets all of your links first: those that are not in your bin. You are at least an editor there.
    #[schema(example = 12, minimum = 1)]
    links_to: Option<i64>,
}

/// Delete your account.
///
/// With its links and their statistics: once this is answered, no instance follows them. Their codes are never given to
/// other links. The address may be registered again. With `links_to` the links are moved to a group first, and keep their statistics; if that
/// takes long, it is answered 503, and the same request goes on. Nothing is deleted while you are the only owner of a group.
#[utoipa::path(
    delete, path = "/auth/me", tag = "accounts", operation_id = "delete_account", security(("bearer" = [])),
    request_body(content = DeletionBody, description = "Any JSON object with this field; others are ignored"),
    responses(
        (status = 204, description = "The account is deleted"),
        (status = 403, description = "The password is wrong; it counts as a failed log-in", body = ErrorBody,
            example = json!({"detail": "Incorrect password"})),
        (status = 404, description = "You are no member of the group `links_to`", body = ErrorBody, example = json!({"detail": "Group not found"})),
        (status = 409, description = "You are the only owner of a group", body = ErrorBody,
            example = json!({"detail": "You are the only owner of the group Marketing; make another member an owner, or delete the group"})),
        TakesBody, NeedsToken, Limited, NeedsDatabase,
    ),
)]
pub(super) async fn delete_account(
    State(links): State<Arc<LinkService>>,
    State(accounts): State<Arc<Accounts>>,
    LoggedIn(owner): LoggedIn,
    Asking(client): Asking,
    body: Result<JsonBody<DeletionBody>, ApiError>,
) -> Result<StatusCode, ApiError> {
    let JsonBody(body) = match body {
        Ok(body) => body,
        Err(refusal) => {
            // The deletion would have shown whether the account still exists.
            accounts.user(owner).await?;
            return Err(refusal);
        }
    };
    let password = Password::at_log_in(body.password);
    let changes = match body.links_to {
        None => accounts.delete(&client, owner, password).await?,
        Some(group) => {
            let max_links = links.limits.get().links_per_account;
            let group = UserId(group);
            let deleted = accounts.delete_handing_over(&client, owner, password, group, max_links);
            deleted.await?
        }
    };
    links.announce_all(&changes).await;
    Ok(StatusCode::NO_CONTENT)
}
