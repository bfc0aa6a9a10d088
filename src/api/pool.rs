//! `/urls/{short_code}/pool`: targets of which each counted visitor of a link gets the next one.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::authentication::TokenOwner;
use crate::accounts::Accounts;
use crate::domain::{PoolTargets, Principal};
#[cfg(test)]
use crate::http::documented::{
    CodeParameter, ErrorBody, Limited, NeedsDatabase, NeedsReadKey, NeedsRoom, NeedsToken,
    NeedsWriteKey, TakesQuery,
};
use crate::http::{ApiError, BodyLimits, ClientAddress, Json, PathCode, QueryOf, read_body};
use crate::links::LinkService;
use crate::store::PoolState;

/// 100,000 targets of 300 bytes each.
const LIMITS: BodyLimits = BodyLimits {
    bytes: 32 << 20,
    timeout: Duration::from_secs(25),
};

/// How many targets a pool has.
#[derive(Serialize, ToSchema)]
pub(super) struct PoolBody {
    /// Targets that no visitor has got.
    #[schema(example = 480)]
    left: u64,
    /// Targets that were given out.
    #[schema(example = 20)]
    given: u64,
}

impl From<PoolState> for PoolBody {
    fn from(PoolState { left, given }: PoolState) -> Self {
        Self { left, given }
    }
}

/// How a pool is emptied.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct EmptyQuery {
    /// `true`: the link has no pool any more, and leads to its `target_url` again.
    #[serde(default)]
    end: bool,
}

/// That no link of this owner has the code; a link would have shown that the account still exists.
async fn no_link(accounts: &Accounts, owner: Principal) -> Result<ApiError, ApiError> {
    accounts.user(owner).await?;
    Ok(ApiError::url_not_found())
}

/// Give each visitor of a link a target of its own.
///
/// The body has a target in each line; empty lines are passed over. From then on each visitor who is counted is sent to the
/// next line, and no line is used twice: for coupons, seats, survey links. Known bots, previews of chats and `HEAD` requests get
/// no target of the pool: they get `fallback_url`, or 404 without it, as everybody does once the pool is empty. Until the pool is ended
/// (`DELETE` with `end=true`), it stands in the place of `target_url`. Further calls add further targets, up to 100,000 in all.
#[utoipa::path(
    post, path = "/urls/{short_code}/pool", tag = "links", operation_id = "add_to_pool",
    params(CodeParameter),
    request_body(content = String, content_type = "text/plain"),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The targets are added", body = PoolBody),
        (status = 404, description = "No link of yours has this code", body = ErrorBody,
            example = json!({"detail": "URL not found"})),
        (status = 408, description = "The body did not arrive within 25 seconds", body = ErrorBody),
        (status = 409, description = "The link was removed by the service's administrators", body = ErrorBody,
            example = json!({"detail": "URL removed"})),
        (status = 413, description = "The body is larger than 32 MiB", body = ErrorBody),
        (status = 422, description = "A line is no valid target, or there are too many: no target is added", body = ErrorBody,
            example = json!({"detail": "line 3: must be an absolute http:// or https:// URL with a host"})),
        NeedsToken, NeedsWriteKey, Limited, NeedsRoom, NeedsDatabase,
    ),
)]
pub(super) async fn add(
    State(links): State<Arc<LinkService>>,
    State(accounts): State<Arc<Accounts>>,
    TokenOwner(owner): TokenOwner,
    PathCode(code): PathCode,
    client: ClientAddress,
    request: Request,
) -> Result<Json<PoolBody>, ApiError> {
    let calls = &links.bulk_calls_at_once;
    let _place = calls.begin(owner.user, client.as_str())?;
    let body = read_body(request, LIMITS).await?;
    let targets = PoolTargets::parse(&body, &links.own_host)
        .map_err(|why| ApiError::invalid(why.to_string()))?;
    if let Some(code) = code {
        let added = links.add_to_pool(owner, &code, &targets, client.as_str());
        if let Some(state) = added.await? {
            return Ok(Json(state.into()));
        }
    }
    Err(no_link(&accounts, owner).await?)
}

/// How many targets the pool of a link has left.
///
/// A link without a pool has 0 of each.
#[utoipa::path(
    get, path = "/urls/{short_code}/pool", tag = "links", operation_id = "pool",
    params(CodeParameter),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "Targets that are left, and that were given out", body = PoolBody),
        (status = 404, description = "No link of yours has this code", body = ErrorBody,
            example = json!({"detail": "URL not found"})),
        NeedsToken, NeedsReadKey, NeedsDatabase,
    ),
)]
pub(super) async fn show(
    State(links): State<Arc<LinkService>>,
    State(accounts): State<Arc<Accounts>>,
    TokenOwner(owner): TokenOwner,
    PathCode(code): PathCode,
) -> Result<Json<PoolBody>, ApiError> {
    if let Some(code) = code
        && let Some(state) = links.pool(owner, &code).await?
    {
        return Ok(Json(state.into()));
    }
    Err(no_link(&accounts, owner).await?)
}

/// Empty the pool of a link.
///
/// Once this request is answered, no visitor gets one of its targets: they get `fallback_url`, or 404 without it, until targets are
/// added again. With `end=true` they get `target_url`.
#[utoipa::path(
    delete, path = "/urls/{short_code}/pool", tag = "links", operation_id = "empty_pool",
    params(CodeParameter, EmptyQuery),
    security(("bearer" = [])),
    responses(
        (status = 204, description = "It is empty"),
        (status = 404, description = "No link of yours has this code", body = ErrorBody,
            example = json!({"detail": "URL not found"})),
        (status = 422, description = "A parameter is unknown or not acceptable: `detail` names it", body = ErrorBody,
            example = json!({"detail": "end: must be true or false"})),
        TakesQuery, NeedsToken, NeedsWriteKey, NeedsDatabase,
    ),
)]
pub(super) async fn empty(
    State(links): State<Arc<LinkService>>,
    State(accounts): State<Arc<Accounts>>,
    TokenOwner(owner): TokenOwner,
    PathCode(code): PathCode,
    query: Result<QueryOf<EmptyQuery>, ApiError>,
) -> Result<StatusCode, ApiError> {
    let QueryOf(EmptyQuery { end }) = query?;
    if let Some(code) = code
        && links.empty_pool(owner, &code, end).await?
    {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(no_link(&accounts, owner).await?)
}
