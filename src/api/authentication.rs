//! Extractors for the routes that need a token or a key: the account, or only what the token names.

use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;

use crate::abuse::{Abuse, Administrator};
use crate::accounts::{Access, Accounts, TokenFault};
use crate::domain::{Principal, User};
use crate::http::{Admitted, ApiError, ClientAddress};

/// The account that a valid token or key belongs to; looked up, so that a token outlives no account.
pub(super) struct CurrentUser(pub User);

/// The account that a valid token or key names, not looked up: for routes where the database checks it anyway. A key that
/// may read alone is refused where the method changes something.
pub(super) struct TokenOwner(pub Principal);

/// The same on a route that only creates links: a key for that is enough.
pub(super) struct LinkMaker(pub Principal);

/// The same with the token or key itself, for a response that lasts.
pub(super) struct ListeningOwner {
    pub(super) principal: Principal,
    pub(super) bearer: String,
}

/// The account that a valid token names, not looked up. API keys are refused.
pub(super) struct LoggedIn(pub Principal);

/// The administrator that a valid token names, looked up with the role. API keys are refused.
pub(super) struct Admin(pub Administrator);

impl<S> FromRequestParts<S> for Admin
where
    S: Sync,
    Arc<Accounts>: FromRef<S>,
    Arc<Abuse>: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let LoggedIn(principal) = LoggedIn::from_request_parts(parts, state).await?;
        let Ok(client) = ClientAddress::from_request_parts(parts, state).await;
        let abuse = Arc::<Abuse>::from_ref(state);
        let administrator = abuse.administrator(principal, client.as_str());
        Ok(Self(administrator.await?))
    }
}

impl<S> FromRequestParts<S> for TokenOwner
where
    S: Sync,
    Arc<Accounts>: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let access = if parts.method.is_safe() {
            Access::Read
        } else {
            Access::Change
        };
        owner(parts, state, access).await.map(Self)
    }
}

impl<S> FromRequestParts<S> for LinkMaker
where
    S: Sync,
    Arc<Accounts>: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        owner(parts, state, Access::Create).await.map(Self)
    }
}

impl<S> FromRequestParts<S> for ListeningOwner
where
    S: Sync,
    Arc<Accounts>: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let TokenOwner(principal) = TokenOwner::from_request_parts(parts, state).await?;
        let bearer = bearer(parts)?.to_owned();
        Ok(Self { principal, bearer })
    }
}

impl<S> FromRequestParts<S> for LoggedIn
where
    S: Sync,
    Arc<Accounts>: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let accounts = Arc::<Accounts>::from_ref(state);
        let owner = accounts.logged_in(bearer(parts)?).await?;
        belongs_to(parts, owner)?;
        Ok(Self(owner))
    }
}

impl<S> FromRequestParts<S> for CurrentUser
where
    S: Sync,
    Arc<Accounts>: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let principal = owner(parts, state, Access::Itself).await?;
        let user = Arc::<Accounts>::from_ref(state).user(principal).await?;
        Ok(Self(user))
    }
}

/// The account that a token names, or a key that permits this.
async fn owner<S>(parts: &mut Parts, state: &S, access: Access) -> Result<Principal, ApiError>
where
    S: Sync,
    Arc<Accounts>: FromRef<S>,
{
    let accounts = Arc::<Accounts>::from_ref(state);
    let Ok(client) = ClientAddress::from_request_parts(parts, state).await;
    let owner = accounts.owner(bearer(parts)?, access, client.as_str());
    let owner = owner.await?;
    belongs_to(parts, owner)?;
    Ok(owner)
}

/// Counts the request for the account, which has its share of all.
fn belongs_to(parts: &Parts, owner: Principal) -> Result<(), ApiError> {
    let admitted: Option<&Arc<Admitted>> = parts.extensions.get();
    admitted.map_or(Ok(()), |admitted| admitted.belongs_to(owner.user))
}

/// The token of the one `Authorization: Bearer …` header.
fn bearer(parts: &Parts) -> Result<&str, ApiError> {
    let mut headers = parts.headers.get_all(AUTHORIZATION).iter();
    let header = headers.next().ok_or_else(ApiError::not_authenticated)?;
    let text = header.to_str().map_err(|_| TokenFault::Malformed)?;
    if headers.next().is_some() {
        return Err(TokenFault::Malformed.into());
    }
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        // Another way to authenticate is no token: RFC 6750 (3.1) wants no error named then.
        return Err(ApiError::not_authenticated());
    }
    Ok(token.trim_start_matches(' '))
}
