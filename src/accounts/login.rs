//! `POST /auth/login`

use axum::Json;
use axum::extract::State;

use super::{AccountBody, Accounts, TokenAnswer};
use crate::domain::{EmailAddress, Password};
use crate::http::{ApiError, ClientAddress, ErrorBody, JsonBody};
use crate::limits::Action;

/// Answers a token for an account.
#[utoipa::path(
    post, path = "/auth/login", tag = "accounts", request_body = AccountBody,
    responses(
        (status = 200, description = "A fresh token", body = TokenAnswer),
        (status = 401, description = "`Incorrect email or password`, whichever it is", body = ErrorBody),
        (status = 413, description = "The body is larger than 16 KiB", body = ErrorBody),
        (status = 422, description = "A field is missing or breaks its rule", body = ErrorBody),
        (status = 429, description = "Too many attempts from this address or for this account", body = ErrorBody),
        (status = 503, description = "Not now; try again after `Retry-After` seconds", body = ErrorBody),
    ),
)]
pub async fn login(
    State(accounts): State<Accounts>,
    client: ClientAddress,
    JsonBody(body): JsonBody<AccountBody>,
) -> Result<Json<TokenAnswer>, ApiError> {
    let (email, password) = body.parse()?;
    accounts
        .limiter
        .count(Action::Login, client.as_str())
        .await?;
    accounts
        .limiter
        .count(Action::Login, &email.lookup_key())
        .await?;
    let token = accounts.log_in(&email, password).await?;
    Ok(Json(TokenAnswer::new(token)))
}

impl Accounts {
    async fn log_in(&self, email: &EmailAddress, password: Password) -> Result<String, ApiError> {
        let credentials = self.users.credentials(email).await?;
        let (user, hash) = credentials
            .map(|found| (found.user, found.password_hash))
            .unzip();
        // Without an account a hash is checked all the same, so that the time tells nothing.
        let matches = self.hasher.verify(password, hash).await?;
        match user.filter(|_| matches) {
            Some(user) => self.tokens.issue(user),
            None => Err(ApiError::wrong_credentials()),
        }
    }
}
