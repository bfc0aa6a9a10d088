//! `GET /urls/{short_code}/stats/series`: when a link was followed.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::authentication::AskedBy;
use super::series_body::{SeriesBody, SeriesQuery};
#[cfg(test)]
use super::shares::{NeedsTokenOrShare, ShareParameter};
#[cfg(test)]
use crate::http::documented::{CodeParameter, ErrorBody, LimitsMisses, NeedsDatabase, TakesQuery};
use crate::http::{ApiError, ClientAddress, Json, PathCode, QueryOf};
use crate::links::LinkService;

/// Which part of the series, and who asks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkSeriesQuery {
    interval: Option<String>,
    from: Option<String>,
    to: Option<String>,
    tz: Option<String>,
    #[expect(dead_code, reason = "who asks is found out before")]
    share: Option<String>,
}

impl LinkSeriesQuery {
    fn of_range(self) -> SeriesQuery {
        SeriesQuery {
            interval: self.interval,
            from: self.from,
            to: self.to,
            tz: self.tz,
        }
    }
}

/// When was a link followed?
///
/// Clicks by hour, day or month, as public and as exact as the statistics: over all time their sum is the count. A click
/// belongs to the point in which it was recorded. Every point of the range is there, including points without clicks.
/// Whether a click is by a known bot is known some seconds after it is counted: until then `people` has it.
#[utoipa::path(
    get, path = "/urls/{short_code}/stats/series", tag = "links", operation_id = "link_series",
    params(CodeParameter, SeriesQuery, ShareParameter), security((), ("bearer" = [])),
    responses(
        (status = 200, description = "The series", body = SeriesBody),
        (status = 404, description = "No link has this code", body = ErrorBody, example = json!({"detail": "Not Found"})),
        (status = 422, description = "A parameter is unknown or not acceptable: `detail` names it", body = ErrorBody, examples(
            ("interval" = (value = json!({"detail": "interval: must be hour, day or month"}))),
            ("tz" = (value = json!({"detail": "tz: must be an IANA time zone, such as Europe/Berlin"}))),
            ("range" = (value = json!({"detail": "from: must be before to, which is now unless given, such as from=2026-11-01&to=2026-11-25"}))),
        )),
        TakesQuery, NeedsTokenOrShare, LimitsMisses, NeedsDatabase,
    ),
)]
pub(super) async fn link_series(
    State(links): State<Arc<LinkService>>,
    AskedBy(reader): AskedBy,
    PathCode(code): PathCode,
    client: ClientAddress,
    QueryOf(query): QueryOf<LinkSeriesQuery>,
) -> Result<Response, ApiError> {
    let range = query.of_range().range(links.clock.now())?;
    let code = code.ok_or_else(ApiError::not_found)?;
    if !links
        .may_read_stats(&reader, &code, client.as_str())
        .await?
    {
        return Err(ApiError::not_found());
    }
    let series = links.series(&code, &range, client.as_str()).await?;
    let (code, series) = series.ok_or_else(ApiError::not_found)?;
    let code = code.as_str().to_owned();
    Ok(Json(SeriesBody::new(Some(code), &range, &series)).into_response())
}
