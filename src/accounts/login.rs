//! `POST /auth/login`

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use super::{AccountBody, Accounts, TokenAnswer};
use crate::domain::{EmailAddress, Password};
use crate::http::documented::{Limited, NeedsDatabase, TakesBody};
use crate::http::{ApiError, ClientAddress, ErrorBody, JsonBody};
use crate::limits::Action;

/// Get a token.
///
/// Tokens issued earlier stay valid until they expire: 24 hours after they were made, unless this service is
/// set up otherwise.
#[utoipa::path(
    post, path = "/auth/login", tag = "accounts", operation_id = "login",
    request_body(content = AccountBody, description = "Any JSON object with these two fields; others are ignored"),
    responses(
        (status = 200, description = "A fresh token", body = TokenAnswer),
        (status = 401, description = "No such account, or not its password; which of them is not told", body = ErrorBody,
            example = json!({"detail": "Incorrect email or password"})),
        TakesBody, Limited, NeedsDatabase,
    ),
)]
pub async fn login(
    State(accounts): State<Arc<Accounts>>,
    client: ClientAddress,
    JsonBody(body): JsonBody<AccountBody>,
) -> Result<Json<TokenAnswer>, ApiError> {
    let (email, password) = body.parse()?;
    let token = accounts.log_in(&client, &email, password).await?;
    Ok(Json(TokenAnswer::new(token)))
}

impl Accounts {
    async fn log_in(
        &self,
        client: &ClientAddress,
        email: &EmailAddress,
        password: Password,
    ) -> Result<String, ApiError> {
        for caller in [client.as_str(), &email.lookup_key()] {
            self.limiter.count(Action::Login, caller).await?;
        }
        let turn = self.hasher.turn().await?;
        let credentials = self.users.credentials(email).await?;
        let (user, hash) = credentials
            .map(|found| (found.user, found.password_hash))
            .unzip();
        // Without an account a hash is checked all the same, so that the time tells nothing.
        let matches = turn.verify(password, hash).await?;
        match user.filter(|_| matches) {
            Some(user) => self.tokens.issue(user),
            None => Err(ApiError::wrong_credentials()),
        }
    }
}
