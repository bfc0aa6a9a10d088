//! Extractors for the routes that need a token or a key: the account, or only what the token names.

use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts};
use axum::http::header::{AUTHORIZATION, HeaderName};
use axum::http::request::Parts;
use serde::Deserialize;

use crate::abuse::{Abuse, Administrator};
use crate::accounts::{Access, Accounts, TokenFault};
use crate::domain::{GroupRole, OneTimeToken, Principal, User, UserId};
use crate::http::{Admitted, ApiError, ClientAddress, QueryOf};
use crate::links::{LinkService, StatsReader};

/// The header by which a person who is logged in acts for a group. A header, as it means the same on every route, and no route's own
/// parameters change.
pub(super) const GROUP: HeaderName = HeaderName::from_static("shunt-group");

/// The account that a valid token or key belongs to; looked up, so that a token outlives no account.
pub(super) struct CurrentUser(pub User);

/// The account that a valid token or key names, not looked up: for routes where the database checks it anyway; or the group that the
/// header names, whose member the token's account is. A key that only reads, and a viewer, are refused where the method changes
/// something.
pub(super) struct TokenOwner(pub Principal);

/// The same on routes that need a key that writes for whatever they do.
pub(super) struct WritingOwner(pub Principal);

/// The same with the person, who may move links elsewhere: `None` of a key.
pub(super) struct ActingPerson {
    pub(super) owner: Principal,
    pub(super) person: Option<Principal>,
}

/// The same on a route that only creates links: a key for that is enough.
pub(super) struct LinkMaker(pub Principal);

/// The same with the token or key itself, for a response that lasts.
pub(super) struct ListeningOwner {
    pub(super) principal: Principal,
    pub(super) bearer: String,
}

/// The account that a valid token names, not looked up. API keys are refused, and groups.
pub(super) struct LoggedIn(pub Principal);

/// The same on routes of keys, which a group has, too: its owners have them.
pub(super) struct KeyOwner(pub Principal);

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

impl<S> FromRequestParts<S> for WritingOwner
where
    S: Sync,
    Arc<Accounts>: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        owner(parts, state, Access::Change).await.map(Self)
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
        let owner = logged_in(parts, state).await?;
        match group(parts)? {
            None => Ok(Self(owner)),
            Some(_) => Err(ApiError::no_group_here()),
        }
    }
}

impl<S> FromRequestParts<S> for KeyOwner
where
    S: Sync,
    Arc<Accounts>: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let person = logged_in(parts, state).await?;
        let owner = acting(parts, state, person, GroupRole::Owner).await?;
        Ok(Self(owner))
    }
}

impl<S> FromRequestParts<S> for ActingPerson
where
    S: Sync,
    Arc<Accounts>: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let TokenOwner(owner) = TokenOwner::from_request_parts(parts, state).await?;
        let accounts = Arc::<Accounts>::from_ref(state);
        let person = accounts.person(bearer(parts)?)?;
        Ok(Self { owner, person })
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
        if group(parts)?.is_some() {
            return Err(ApiError::no_group_here());
        }
        let user = Arc::<Accounts>::from_ref(state).user(principal).await?;
        Ok(Self(user))
    }
}

/// Who asks for the statistics of a link. Where everybody may read them, it is not looked at who asks.
pub(super) struct AskedBy(pub StatsReader);

/// The secret of a share.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ShareQuery {
    share: Option<String>,
}

impl<S> FromRequestParts<S> for AskedBy
where
    S: Sync,
    Arc<Accounts>: FromRef<S>,
    Arc<LinkService>: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        if Arc::<LinkService>::from_ref(state).stats_are_public() {
            return Ok(Self(StatsReader::Anybody));
        }
        let QueryOf(query) = QueryOf::<ShareQuery>::from_request_parts(parts, state).await?;
        if let Some(share) = query.share {
            return Ok(Self(StatsReader::Holder(OneTimeToken::parse(&share))));
        }
        let TokenOwner(owner) = TokenOwner::from_request_parts(parts, state).await?;
        Ok(Self(StatsReader::Account(owner)))
    }
}

/// The account that a token names, or a key that permits this; or the group for which that account acts.
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
    match access {
        Access::Itself => Ok(owner),
        Access::Read => acting(parts, state, owner, GroupRole::Viewer).await,
        Access::Change | Access::Create => acting(parts, state, owner, GroupRole::Editor).await,
    }
}

/// The account itself, or the group that the request names, if it has at least this role there.
async fn acting<S>(
    parts: &mut Parts,
    state: &S,
    person: Principal,
    needed: GroupRole,
) -> Result<Principal, ApiError>
where
    S: Sync,
    Arc<Accounts>: FromRef<S>,
{
    let Some(group) = group(parts)? else {
        return Ok(person);
    };
    let accounts = Arc::<Accounts>::from_ref(state);
    if accounts.person(bearer(parts)?)?.is_none() {
        return Err(ApiError::key_for_group());
    }
    let Ok(client) = ClientAddress::from_request_parts(parts, state).await;
    let acting = accounts.acting(person, group, needed, client.as_str());
    Ok(acting.await?)
}

/// The account that a log-in token names.
async fn logged_in<S>(parts: &Parts, state: &S) -> Result<Principal, ApiError>
where
    S: Sync,
    Arc<Accounts>: FromRef<S>,
{
    let accounts = Arc::<Accounts>::from_ref(state);
    let owner = accounts.logged_in(bearer(parts)?).await?;
    belongs_to(parts, owner)?;
    Ok(owner)
}

/// The group that a request names.
fn group(parts: &Parts) -> Result<Option<UserId>, ApiError> {
    let mut headers = parts.headers.get_all(GROUP).iter();
    let Some(header) = headers.next() else {
        return Ok(None);
    };
    let number = header
        .to_str()
        .ok()
        .and_then(|text| text.trim().parse().ok());
    let number = number.filter(|number| *number > 0 && headers.next().is_none());
    number
        .map(|number| Some(UserId(number)))
        .ok_or_else(ApiError::invalid_group_header)
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
