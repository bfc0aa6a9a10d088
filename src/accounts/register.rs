//! `POST /auth/register`

use axum::Json;
use axum::extract::State;

use super::{AccountBody, Accounts, TokenAnswer};
use crate::domain::{EmailAddress, Password, Timestamp};
use crate::http::{ApiError, ClientAddress, ErrorBody, JsonBody};
use crate::limits::Action;
use crate::store::CreateUserError;

/// Makes an account and answers its first token.
#[utoipa::path(
    post, path = "/auth/register", tag = "accounts", request_body = AccountBody,
    responses(
        (status = 200, description = "The account is made", body = TokenAnswer),
        (status = 400, description = "The address is taken: `Email already registered`", body = ErrorBody),
        (status = 413, description = "The body is larger than 16 KiB", body = ErrorBody),
        (status = 422, description = "A field is missing or breaks its rule", body = ErrorBody),
        (status = 429, description = "Too many registrations from this address", body = ErrorBody),
        (status = 503, description = "Not now; try again after `Retry-After` seconds", body = ErrorBody),
    ),
)]
pub async fn register(
    State(accounts): State<Accounts>,
    client: ClientAddress,
    JsonBody(body): JsonBody<AccountBody>,
) -> Result<Json<TokenAnswer>, ApiError> {
    let (email, password) = body.parse()?;
    accounts
        .limiter
        .count(Action::Register, client.as_str())
        .await?;
    let token = accounts.register(&email, password).await?;
    Ok(Json(TokenAnswer::new(token)))
}

impl Accounts {
    async fn register(&self, email: &EmailAddress, password: Password) -> Result<String, ApiError> {
        // Looked up first: a taken address costs no hash.
        if self.users.credentials(email).await?.is_some() {
            return Err(taken());
        }
        let hash = self.hasher.hash(password).await?;
        match self.users.create_user(email, &hash, Timestamp::now()).await {
            Ok(user) => self.tokens.issue(user),
            Err(CreateUserError::EmailTaken) => Err(taken()),
            Err(CreateUserError::Store(error)) => Err(error.into()),
        }
    }
}

fn taken() -> ApiError {
    ApiError::bad_request("Email already registered")
}
