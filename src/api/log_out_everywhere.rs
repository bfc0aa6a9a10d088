//! `POST /auth/logout-everywhere`: ends every token of the account.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;

use super::authentication::LoggedIn;
use crate::accounts::Accounts;
#[cfg(test)]
use crate::http::documented::{NeedsDatabase, NeedsToken};
use crate::http::{ApiError, ClientAddress};

/// Revoke all your tokens.
///
/// All tokens are refused from now on, including the token of this request. Log in to get a new token.
#[utoipa::path(
    post, path = "/auth/logout-everywhere", tag = "accounts", operation_id = "log_out_everywhere",
    security(("bearer" = [])),
    responses((status = 204, description = "All tokens have ended"), NeedsToken, NeedsDatabase),
)]
pub(super) async fn log_out_everywhere(
    State(accounts): State<Arc<Accounts>>,
    LoggedIn(owner): LoggedIn,
    client: ClientAddress,
) -> Result<StatusCode, ApiError> {
    accounts.end_tokens(client.as_str(), owner).await?;
    Ok(StatusCode::NO_CONTENT)
}
