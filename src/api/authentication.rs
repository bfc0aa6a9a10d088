//! Extractors for the routes that need a token: the account, or only what the token names.

use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;

use crate::accounts::Accounts;
use crate::domain::{Principal, User};
use crate::http::ApiError;

/// The account that a valid token belongs to; looked up, so that a token outlives no account.
pub(super) struct CurrentUser(pub User);

/// The account that a valid token names, not looked up: for routes where the database checks it anyway.
pub(super) struct TokenOwner(pub Principal);

impl<S> FromRequestParts<S> for TokenOwner
where
    S: Sync,
    Arc<Accounts>: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let accounts = Arc::<Accounts>::from_ref(state);
        let principal = bearer(parts).and_then(|token| accounts.principal(token));
        principal.map(Self).ok_or_else(ApiError::not_authenticated)
    }
}

impl<S> FromRequestParts<S> for CurrentUser
where
    S: Sync,
    Arc<Accounts>: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let TokenOwner(principal) = TokenOwner::from_request_parts(parts, state).await?;
        let user = Arc::<Accounts>::from_ref(state).user(principal).await?;
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
