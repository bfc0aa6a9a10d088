//! `POST /auth/login`: issues a token for an e-mail address and its password.

use std::sync::Arc;

use axum::extract::State;

use super::account_bodies::{LoginBody, TokenBody};
use crate::accounts::Accounts;
#[cfg(test)]
use crate::http::documented::{ErrorBody, Limited, NeedsDatabase, TakesBody};
use crate::http::{ApiError, Asking, Json, JsonBody};

/// Get a token.
///
/// Tokens issued earlier stay valid until they expire: 24 hours after they were issued, unless this service is
/// set up otherwise.
#[utoipa::path(
    post, path = "/auth/login", tag = "accounts", operation_id = "login",
    request_body(content = LoginBody, description = "Any JSON object with these fields; others are ignored"),
    responses(
        (status = 200, description = "A fresh token", body = TokenBody),
        (status = 401, description = "No such account, or not its password; the response does not say which. Or, only after a right password: \
            `One-time password needed`, `Invalid one-time password`", body = ErrorBody,
            example = json!({"detail": "Incorrect email or password"})),
        (status = 403, description = "The account must have two factors, and the second one is not set up yet; or passwords do not log in here; \
            or a page of another site made a browser send this", body = ErrorBody, examples(
            ("two factors" = (value = json!({"detail": "This account needs two factors; sign in on the pages, and set up the second one at /app/account/two-factors"}))),
            ("cross-origin" = (value = json!({"detail": "Requests from pages of other sites are refused; send this from the service's own pages, or from a program"}))),
        )),
        TakesBody, Limited, NeedsDatabase,
    ),
)]
pub(super) async fn login(
    State(accounts): State<Arc<Accounts>>,
    Asking(client): Asking,
    JsonBody(body): JsonBody<LoginBody>,
) -> Result<Json<TokenBody>, ApiError> {
    let (email, password, otp) = body.parse()?;
    let otp = otp.as_ref();
    let token = accounts.log_in(&client, &email, password, otp).await?;
    Ok(Json(TokenBody::new(token)))
}
