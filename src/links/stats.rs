//! `GET /urls/{short_code}/stats`

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::LinksApi;
use crate::domain::ShortCode;
use crate::http::{ApiError, ErrorBody, PathCode};

/// Public statistics of a link.
#[derive(Serialize, ToSchema)]
pub struct StatsAnswer {
    /// Path of the short link.
    #[schema(example = "K7mXq2R")]
    short_code: String,
    /// Where it leads.
    #[schema(example = "https://example.org/a/long/path")]
    target_url: String,
    /// Exact number of answered redirects.
    #[schema(example = 42)]
    clicks: u64,
    /// The same number.
    #[schema(example = 42)]
    total: u64,
}

/// Answers how often a link was followed. Anyone may ask.
#[utoipa::path(
    get, path = "/urls/{short_code}/stats", tag = "links",
    params(("short_code" = String, Path, description = "Code of the link", example = "K7mXq2R")),
    responses(
        (status = 200, description = "Every redirect that was answered before is counted", body = StatsAnswer),
        (status = 404, description = "`Not Found`", body = ErrorBody),
        (status = 503, description = "An exact count is not to be had now; try again after `Retry-After` seconds", body = ErrorBody),
    ),
)]
pub async fn stats(
    State(api): State<LinksApi>,
    PathCode(code): PathCode,
) -> Result<Json<StatsAnswer>, ApiError> {
    let code = code.ok_or_else(ApiError::not_found)?;
    let stats = api.stats(&code).await?;
    stats.map(Json).ok_or_else(ApiError::not_found)
}

impl LinksApi {
    async fn stats(&self, code: &ShortCode) -> Result<Option<StatsAnswer>, ApiError> {
        let Some(link) = self.links.link_target(code).await? else {
            return Ok(None);
        };
        let clicks = self.counts.of(&[link.id]).await?.get(&link.id).copied();
        Ok(clicks.map(|clicks| StatsAnswer {
            short_code: code.as_str().to_owned(),
            target_url: link.target.as_str().to_owned(),
            clicks,
            total: clicks,
        }))
    }
}
