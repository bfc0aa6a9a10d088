//! `POST /auth/register`: creates an account and issues its first token.

use std::sync::Arc;

use axum::extract::State;

use super::account_bodies::{RegistrationBody, TokenBody};
use crate::accounts::Accounts;
#[cfg(test)]
use crate::http::documented::{ErrorBody, Limited, NeedsDatabase, NeedsRoom, TakesBody};
use crate::http::{ApiError, Asking, Json, JsonBody};

/// Create an account.
///
/// The response has the account's first token: paste `access_token` under **Authorize** and go on with
/// `POST /urls/shorten`. An address is registered once, whatever its case.
#[utoipa::path(
    post, path = "/auth/register", tag = "accounts", operation_id = "register",
    request_body(content = RegistrationBody, description = "Any JSON object with these two fields; others are ignored"),
    responses(
        (status = 200, description = "The account is created", body = TokenBody),
        (status = 400, description = "The address is taken", body = ErrorBody,
            example = json!({"detail": "Email already registered"})),
        (status = 403, description = "Registration is closed, or open to addresses at other domains only; or passwords do not log in here, or every account needs two factors: \
            accounts are made on the pages then; or a page of another site made a browser send this", body = ErrorBody, examples(
            ("closed" = (value = json!({"detail": "Registration is closed; ask the operator of this service for an account"}))),
            ("cross-origin" = (value = json!({"detail": "Requests from pages of other sites are refused; send this from the service's own pages, or from a program"}))),
        )),
        TakesBody, Limited, NeedsRoom, NeedsDatabase,
    ),
)]
pub(super) async fn register(
    State(accounts): State<Arc<Accounts>>,
    Asking(client): Asking,
    JsonBody(body): JsonBody<RegistrationBody>,
) -> Result<Json<TokenBody>, ApiError> {
    let (email, password) = body.parse()?;
    let token = accounts.register(&client, &email, password).await?;
    Ok(Json(TokenBody::new(token)))
}
