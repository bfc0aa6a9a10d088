//! `POST /auth/login`: issues a token for an e-mail address and its password.

use std::sync::Arc;

use axum::extract::State;

use super::account_bodies::{LoginBody, TokenBody};
use crate::accounts::Accounts;
#[cfg(test)]
use crate::http::documented::{ErrorBody, Limited, NeedsDatabase, TakesBody, TakesNoToken};
use crate::http::{ApiError, Asking, Json, JsonBody};

/// Get a token.
///
/// Tokens issued earlier stay valid until they expire: 24 hours after they were issued, unless this service is
/// set up otherwise.
#[utoipa::path(
    post, path = "/auth/login", tag = "accounts", operation_id = "login",
    request_body(content = LoginBody, description = "Any JSON object with these two fields; others are ignored"),
    responses(
        (status = 200, description = "A fresh token", body = TokenBody),
        (status = 401, description = "No such account, or not its password; the response does not say which", body = ErrorBody,
            example = json!({"detail": "Incorrect email or password"})),
        TakesNoToken, TakesBody, Limited, NeedsDatabase,
    ),
)]
pub(super) async fn login(
    State(accounts): State<Arc<Accounts>>,
    Asking(client): Asking,
    JsonBody(body): JsonBody<LoginBody>,
) -> Result<Json<TokenBody>, ApiError> {
    let (email, password) = body.parse()?;
    let token = accounts.log_in(&client, &email, password).await?;
    Ok(Json(TokenBody::new(token)))
}
