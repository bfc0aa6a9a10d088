//! Extractors for the routes that need a token: the account, or only its id.

use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;

use crate::accounts::Accounts;
use crate::domain::{User, UserId};
use crate::http::ApiError;

/// The account that a valid token belongs to; looked up, so that a token outlives no account.
pub(super) struct CurrentUser(pub User);

/// The user that a valid token names, not looked up: for routes where the database checks it anyway.
pub(super) struct TokenOwner(pub UserId);

impl<S> FromRequestParts<S> for TokenOwner
where
    S: Sync,
    Arc<Accounts>: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let accounts = Arc::<Accounts>::from_ref(state);
        let user = bearer(parts).and_then(|token| accounts.token_owner(token));
        user.map(Self).ok_or_else(ApiError::not_authenticated)
    }
}

impl<S> FromRequestParts<S> for CurrentUser
where
    S: Sync,
    Arc<Accounts>: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let TokenOwner(id) = TokenOwner::from_request_parts(parts, state).await?;
        let user = Arc::<Accounts>::from_ref(state).user(id).await?;
        Ok(Self(user))
    }
}

/// The token of the one `Authorization: Bearer …` header.
fn bearer(parts: &Parts) -> Option<&str> {
    let mut headers = parts.headers.get_all(AUTHORIZATION).iter();
    let (Some(header), None) = (headers.next(), headers.next()) else {
        return None;
    };
    let (scheme, token) = header.to_str().ok()?.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim_start_matches(' '))
}
