//! `POST /auth/register`

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use super::{AccountBody, Accounts, TokenAnswer};
use crate::domain::{EmailAddress, Password, Timestamp};
use crate::http::documented::{Limited, NeedsDatabase, TakesBody};
use crate::http::{ApiError, ClientAddress, ErrorBody, JsonBody};
use crate::limits::Action;
use crate::store::CreateUserError;

/// Make an account.
///
/// Answers the account's first token: paste `access_token` under **Authorize** and go on with
/// `POST /urls/shorten`. An address is registered once, whatever its case.
#[utoipa::path(
    post, path = "/auth/register", tag = "accounts", operation_id = "register",
    request_body(content = AccountBody, description = "Any JSON object with these two fields; others are ignored"),
    responses(
        (status = 200, description = "The account is made", body = TokenAnswer),
        (status = 400, description = "The address is taken", body = ErrorBody,
            example = json!({"detail": "Email already registered"})),
        TakesBody, Limited, NeedsDatabase,
    ),
)]
pub async fn register(
    State(accounts): State<Arc<Accounts>>,
    client: ClientAddress,
    JsonBody(body): JsonBody<AccountBody>,
) -> Result<Json<TokenAnswer>, ApiError> {
    let (email, password) = body.parse()?;
    let token = accounts.register(&client, &email, password).await?;
    Ok(Json(TokenAnswer::new(token)))
}

impl Accounts {
    async fn register(
        &self,
        client: &ClientAddress,
        email: &EmailAddress,
        password: Password,
    ) -> Result<String, ApiError> {
        let caller = client.as_str();
        self.limiter.count(Action::Register, caller).await?;
        let turn = self.hasher.turn().await?;
        // Looked up first: a taken address costs no hash.
        if self.users.credentials(email).await?.is_some() {
            return Err(taken());
        }
        let hash = turn.hash(password).await?;
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
