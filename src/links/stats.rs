//! `GET /urls/{short_code}/stats`

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::LinksApi;
use crate::domain::{Click, ShortCode};
use crate::http::documented::NeedsDatabase;
use crate::http::{ApiError, CodeParameter, ErrorBody, PathCode};
use crate::store::ToCount;

/// Public statistics of a link.
#[derive(Serialize, ToSchema)]
pub struct StatsAnswer {
    /// The link's path.
    #[schema(example = "K7mXq2R", pattern = "^[A-Za-z0-9_-]{1,64}$")]
    short_code: String,
    /// Where it leads.
    #[schema(example = "https://example.org/a/long/path", max_length = 2048)]
    target_url: String,
    /// Exact number of answered redirects.
    #[schema(example = 42)]
    clicks: u64,
    /// The same number.
    #[schema(example = 42)]
    total: u64,
}

/// How often was a link followed?
///
/// Anyone may ask. Every redirect that was answered before is counted, on whichever instance; the number
/// never falls. When an exact number is not to be had, the answer is 503.
#[utoipa::path(
    get, path = "/urls/{short_code}/stats", tag = "links", operation_id = "stats", params(CodeParameter),
    responses(
        (status = 200, description = "The exact number", body = StatsAnswer),
        (status = 404, description = "Nobody has this code", body = ErrorBody, example = json!({"detail": "Not Found"})),
        NeedsDatabase,
    ),
)]
pub async fn stats(
    State(api): State<Arc<LinksApi>>,
    PathCode(code): PathCode,
) -> Result<Json<StatsAnswer>, ApiError> {
    let code = code.ok_or_else(ApiError::not_found)?;
    let stats = api.stats(&code).await?;
    stats.map(Json).ok_or_else(ApiError::not_found)
}

impl LinksApi {
    async fn stats(&self, code: &ShortCode) -> Result<Option<StatsAnswer>, ApiError> {
        let counting = self.counts.begin();
        let Some(ToCount { found: link, held }) = self.links.link_to_count(code).await? else {
            return Ok(None);
        };
        let counted = Click::new(link.id, self.cache.shard_of(code));
        let clicks = counting.of(&[counted], held).await?.get(&link.id).copied();
        Ok(clicks.map(|clicks| StatsAnswer {
            short_code: code.as_str().to_owned(),
            target_url: link.target.as_str().to_owned(),
            clicks,
            total: clicks,
        }))
    }
}
