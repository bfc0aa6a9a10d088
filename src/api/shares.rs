//! `/urls/{short_code}/shares`: who may read the statistics of a link beside its owner.

use std::sync::Arc;

use axum::extract::{RawPathParams, State};
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;
#[cfg(test)]
use utoipa::{IntoParams, IntoResponses};

use super::authentication::TokenOwner;
use super::base_address::BaseAddress;
use crate::accounts::Accounts;
#[cfg(test)]
use crate::http::documented::{
    CodeParameter, ErrorBody, NeedsDatabase, NeedsReadKey, NeedsToken, NeedsWriteKey,
};
use crate::http::{ApiError, Json, PathCode};
use crate::links::{LinkService, MAX_SHARES, ShareMade};
use crate::store::StatsShare;

/// Who asks, where statistics are not public.
#[cfg(test)]
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ShareParameter {
    /// The secret of a share of the link, in place of a token; needed only with `STATS=owner`.
    #[param(example = "5d41402abc4b2a76b9719d911017c592a1b2c3d4e5f60718")]
    #[expect(
        dead_code,
        reason = "it only describes a parameter in the OpenAPI document"
    )]
    share: Option<String>,
}

/// Which share of a link.
#[cfg(test)]
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct ShareId {
    /// Identifier of a share.
    #[param(example = 1, minimum = 1)]
    #[expect(
        dead_code,
        reason = "it only describes a parameter in the OpenAPI document"
    )]
    id: i64,
}

/// 401 where statistics are not public.
#[cfg(test)]
#[derive(IntoResponses)]
#[response(
    status = 401,
    description = "Only with `STATS=owner`: there is neither a share nor a valid token or key"
)]
pub(super) struct NeedsTokenOrShare(#[expect(dead_code, reason = "as above")] ErrorBody);

/// A share.
#[derive(Serialize, ToSchema)]
pub(super) struct ShareBody {
    /// Its identifier.
    #[schema(example = 1, minimum = 1)]
    id: i64,
    /// When it was made.
    #[schema(example = "2026-11-24T18:00:00Z", format = DateTime)]
    created_at: String,
}

/// A new share with its secret.
#[derive(Serialize, ToSchema)]
pub(super) struct NewShareBody {
    #[serde(flatten)]
    share: ShareBody,
    /// The secret. It is shown only now.
    #[schema(
        example = "5d41402abc4b2a76b9719d911017c592a1b2c3d4e5f60718",
        pattern = "^[0-9a-f]{48}$"
    )]
    token: String,
    /// The page with the statistics, for people.
    #[schema(
        example = "https://sho.rt/app/shared/5d41402abc4b2a76b9719d911017c592a1b2c3d4e5f60718"
    )]
    url: String,
}

impl From<StatsShare> for ShareBody {
    fn from(share: StatsShare) -> Self {
        Self {
            id: share.id,
            created_at: share.created_at.to_string(),
        }
    }
}

/// Share the statistics of one of your links.
///
/// A person with the secret reads the number of clicks and the series with `?share=…`, and all statistics on a page of its own, until you
/// end the share or the link is deleted. A link has at most 20 shares.
#[utoipa::path(
    post, path = "/urls/{short_code}/shares", tag = "links", operation_id = "share_stats", params(CodeParameter),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The share", body = NewShareBody),
        (status = 403, description = "The key may not write, or the link has as many shares as it may have", body = ErrorBody,
            example = json!({"detail": "This link has the maximum of 20 shares; end one to make room"})),
        (status = 404, description = "No link of yours has this code", body = ErrorBody, example = json!({"detail": "URL not found"})),
        NeedsToken, NeedsDatabase,
    ),
)]
pub(super) async fn make(
    State(links): State<Arc<LinkService>>,
    State(accounts): State<Arc<Accounts>>,
    State(base_address): State<BaseAddress>,
    TokenOwner(owner): TokenOwner,
    PathCode(code): PathCode,
) -> Result<Json<NewShareBody>, ApiError> {
    let made = match code {
        Some(code) => links.share_stats(owner, &code).await?,
        None => ShareMade::NoLink,
    };
    match made {
        ShareMade::Done(share, token) => Ok(Json(NewShareBody {
            share: share.into(),
            url: format!("{}/app/shared/{}", base_address.as_str(), token.expose()),
            token: token.expose().to_owned(),
        })),
        ShareMade::Full => Err(ApiError::shares_full(MAX_SHARES)),
        ShareMade::NoLink => {
            accounts.user(owner).await?;
            Err(ApiError::url_not_found())
        }
    }
}

/// List the shares of one of your links.
///
/// The newest first, without their secrets.
#[utoipa::path(
    get, path = "/urls/{short_code}/shares", tag = "links", operation_id = "stats_shares", params(CodeParameter),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The shares", body = Vec<ShareBody>),
        (status = 404, description = "No link of yours has this code", body = ErrorBody, example = json!({"detail": "URL not found"})),
        NeedsToken, NeedsReadKey, NeedsDatabase,
    ),
)]
pub(super) async fn list(
    State(links): State<Arc<LinkService>>,
    State(accounts): State<Arc<Accounts>>,
    TokenOwner(owner): TokenOwner,
    PathCode(code): PathCode,
) -> Result<Json<Vec<ShareBody>>, ApiError> {
    let shares = match code {
        Some(code) => links.stats_shares(owner, &code).await?,
        None => None,
    };
    let Some(shares) = shares else {
        accounts.user(owner).await?;
        return Err(ApiError::url_not_found());
    };
    Ok(Json(shares.into_iter().map(ShareBody::from).collect()))
}

/// End a share.
///
/// Once this is answered, no instance takes its secret.
#[utoipa::path(
    delete, path = "/urls/{short_code}/shares/{id}", tag = "links", operation_id = "end_share",
    params(CodeParameter, ShareId),
    security(("bearer" = [])),
    responses(
        (status = 204, description = "The share has ended"),
        (status = 404, description = "No link of yours with this code has this share", body = ErrorBody,
            example = json!({"detail": "Share not found"})),
        NeedsToken, NeedsWriteKey, NeedsDatabase,
    ),
)]
pub(super) async fn end(
    State(links): State<Arc<LinkService>>,
    State(accounts): State<Arc<Accounts>>,
    TokenOwner(owner): TokenOwner,
    PathCode(code): PathCode,
    places: RawPathParams,
) -> Result<StatusCode, ApiError> {
    // No share has the number 0.
    let id = places.iter().find(|(name, _)| *name == "id");
    let id = id.and_then(|(_, id)| id.parse().ok()).unwrap_or_default();
    let ended = match code {
        Some(code) => links.end_stats_share(owner, &code, id).await?,
        None => false,
    };
    if ended {
        return Ok(StatusCode::NO_CONTENT);
    }
    accounts.user(owner).await?;
    Err(ApiError::share_not_found())
}
