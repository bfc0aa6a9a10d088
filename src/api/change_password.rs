//! `POST /auth/password`: another password for the account of the token.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use utoipa::ToSchema;

use super::account_bodies::{TokenBody, new_password};
use super::authentication::LoggedIn;
use crate::accounts::{AccountError, Accounts};
use crate::domain::Password;
#[cfg(test)]
use crate::http::documented::{ErrorBody, Limited, NeedsDatabase, NeedsToken, TakesBody};
use crate::http::{ApiError, Asking, Json, JsonBody};

/// Body of a change of password.
#[derive(Deserialize, ToSchema)]
pub(super) struct PasswordBody {
    /// The password up to now.
    #[schema(example = "correct horse battery")]
    old_password: String,
    /// The one from now on, 8 to 128 characters of any kind; neither a common password nor one with the name in your address.
    #[schema(example = "staple of a wrong horse", min_length = 8, max_length = 128)]
    new_password: String,
}

/// Change your password.
///
/// All earlier tokens are refused from now on; the response has a new token.
#[utoipa::path(
    post, path = "/auth/password", tag = "accounts", operation_id = "change_password", security(("bearer" = [])),
    request_body(content = PasswordBody, description = "Any JSON object with these two fields; others are ignored"),
    responses(
        (status = 200, description = "The password is changed", body = TokenBody),
        (status = 403, description = "The old password is wrong; it counts as a failed log-in", body = ErrorBody,
            example = json!({"detail": "Incorrect password"})),
        TakesBody, NeedsToken, Limited, NeedsDatabase,
    ),
)]
pub(super) async fn change_password(
    State(accounts): State<Arc<Accounts>>,
    LoggedIn(owner): LoggedIn,
    Asking(client): Asking,
    body: Result<JsonBody<PasswordBody>, ApiError>,
) -> Result<Json<TokenBody>, ApiError> {
    let passwords = body.and_then(|JsonBody(body)| {
        let new = new_password("new_password", body.new_password)?;
        Ok((Password::at_log_in(body.old_password), new))
    });
    let (old, new) = match passwords {
        Ok(passwords) => passwords,
        Err(refusal) => {
            // The change would have shown whether the account still exists.
            accounts.user(owner).await?;
            return Err(refusal);
        }
    };
    match accounts.change_password(&client, owner, old, new).await {
        Ok(token) => Ok(Json(TokenBody::new(token))),
        Err(AccountError::Weak(why)) => Err(ApiError::invalid(format!("new_password: {why}"))),
        Err(error) => Err(error.into()),
    }
}
