//! `GET /urls/{short_code}/stats`: how often a link was followed.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::authentication::AskedBy;
use super::base_address::BaseAddress;
use super::link_body::name_short_url;
#[cfg(test)]
use super::shares::{NeedsTokenOrShare, ShareParameter};
#[cfg(test)]
use crate::http::documented::{CodeParameter, ErrorBody, LimitsMisses, NeedsDatabase};
use crate::http::{ApiError, ClientAddress, Json, PathCode};
use crate::links::LinkService;

/// Public statistics of a link.
#[derive(Serialize, ToSchema)]
pub(super) struct StatsBody {
    /// The link's path.
    #[schema(example = "K7mXq2R", pattern = "^[A-Za-z0-9_-]{1,64}$")]
    short_code: String,
    /// Its target; `null` if the link is removed, has not started or needs a password.
    #[schema(
        required = true,
        example = "https://example.org/a/long/path",
        max_length = 2048
    )]
    target_url: Option<String>,
    /// How many rules lead some visitors elsewhere; 0 if the target is hidden.
    #[schema(example = 0, maximum = 20)]
    rules: usize,
    /// Exact number of answered redirects.
    #[schema(example = 42)]
    clicks: u64,
    /// The same number.
    #[schema(example = 42)]
    total: u64,
}

/// How often was a link followed?
///
/// The statistics are public, unless the operator has them for owners only (`STATS=owner`): then they need a token or a key of the
/// owner that may read, or the secret of a share. Every redirect that was answered before is counted, on whichever instance; the number
/// never falls. While an exact number cannot be read, the response is 503.
#[utoipa::path(
    get, path = "/urls/{short_code}/stats", tag = "links", operation_id = "stats", params(CodeParameter, ShareParameter), security((), ("bearer" = [])),
    responses(
        (status = 200, description = "The exact number", body = StatsBody, headers(
            ("Link" = String, description = "`<…>; rel=\"shortlink\"`: the address that people share"),
        )),
        (status = 404, description = "No link has this code", body = ErrorBody, example = json!({"detail": "Not Found"})),
        NeedsTokenOrShare, LimitsMisses, NeedsDatabase,
    ),
)]
pub(super) async fn stats(
    State(links): State<Arc<LinkService>>,
    State(base_address): State<BaseAddress>,
    AskedBy(reader): AskedBy,
    PathCode(code): PathCode,
    client: ClientAddress,
) -> Result<Response, ApiError> {
    let code = code.ok_or_else(ApiError::not_found)?;
    if !links
        .may_read_stats(&reader, &code, client.as_str())
        .await?
    {
        return Err(ApiError::not_found());
    }
    let stats = links.stats(&code, client.as_str()).await?;
    let stats = stats.ok_or_else(ApiError::not_found)?;
    let body = StatsBody {
        short_code: stats.code.as_str().to_owned(),
        target_url: stats.target.map(|target| target.as_str().to_owned()),
        rules: stats.rules,
        clicks: stats.clicks,
        total: stats.clicks,
    };
    let mut response = Json(body).into_response();
    name_short_url(&mut response, &stats.code, &base_address);
    Ok(response)
}
