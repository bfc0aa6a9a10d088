//! `DELETE /auth/me`: deletes the account of the token.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::ToSchema;

use super::authentication::LoggedIn;
use crate::accounts::Accounts;
use crate::domain::Password;
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
}

/// Delete your account.
///
/// With its links and their statistics: once this is answered, no instance follows them. Their codes are never given to
/// other links. The address may be registered again.
#[utoipa::path(
    delete, path = "/auth/me", tag = "accounts", operation_id = "delete_account", security(("bearer" = [])),
    request_body(content = DeletionBody, description = "Any JSON object with this field; others are ignored"),
    responses(
        (status = 204, description = "The account is deleted"),
        (status = 403, description = "The password is wrong; it counts as a failed log-in", body = ErrorBody,
            example = json!({"detail": "Incorrect password"})),
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
    let changes = accounts.delete(&client, owner, password).await?;
    links.announce_all(&changes).await;
    Ok(StatusCode::NO_CONTENT)
}
