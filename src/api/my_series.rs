//! `GET /urls/my/series`: when the links of the token's owner were followed.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::IntoParams;

use super::authentication::TokenOwner;
use super::series_body::{SeriesBody, SeriesQuery};
#[cfg(test)]
use super::words;
use crate::accounts::Accounts;
#[cfg(test)]
use crate::http::documented::{ErrorBody, NeedsDatabase, NeedsReadKey, NeedsToken, TakesQuery};
use crate::http::{ApiError, Json, QueryOf};
use crate::links::LinkService;

/// Which links, which part of their series, and how finely.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct MySeriesQuery {
    /// Links that have exactly this tag.
    #[param(max_length = 50)]
    tag: Option<String>,
    /// Links of this host: one of `GET /domains`, or the service's own.
    #[param(max_length = 260)]
    domain: Option<String>,
    /// The length of a point: `hour`, `day` or `month`.
    #[param(schema_with = words::interval)]
    interval: Option<String>,
    /// The first date, or an RFC 3339 timestamp, as for one link.
    #[param(example = "2026-11-01")]
    from: Option<String>,
    /// The last date, or the RFC 3339 timestamp before which the series ends.
    #[param(example = "2026-11-25")]
    to: Option<String>,
    /// The time zone in which days begin and dates are read: a name of the IANA database.
    #[param(example = "Europe/Berlin", default = "UTC")]
    tz: Option<String>,
}

/// When were your links followed?
///
/// Clicks by hour, day or month of all your links, or of the links with a tag or of a host. Deleted links are not included.
#[utoipa::path(
    get, path = "/urls/my/series", tag = "links", operation_id = "my_series", params(MySeriesQuery),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The series, without `short_code`", body = SeriesBody),
        (status = 422, description = "A parameter is unknown or not acceptable: `detail` names it", body = ErrorBody, examples(
            ("interval" = (value = json!({"detail": "interval: must be hour, day or month"}))),
            ("tag" = (value = json!({"detail": "tag: must be one tag of 1 to 50 characters, without commas and control characters"}))),
        )),
        TakesQuery, NeedsToken, NeedsReadKey, NeedsDatabase,
    ),
)]
pub(super) async fn my_series(
    State(links): State<Arc<LinkService>>,
    State(accounts): State<Arc<Accounts>>,
    TokenOwner(owner): TokenOwner,
    query: Result<QueryOf<MySeriesQuery>, ApiError>,
) -> Result<Response, ApiError> {
    // An account that is gone has no links, and so an empty series.
    accounts.user(owner).await?;
    let QueryOf(query) = query?;
    let group = links.group(query.tag.as_deref(), query.domain.as_deref());
    let group = group.map_err(|error| ApiError::invalid(error.to_string()))?;
    let range = SeriesQuery {
        interval: query.interval,
        from: query.from,
        to: query.to,
        tz: query.tz,
    };
    let range = range.range(links.clock.now())?;
    let series = links.series_of_owner(owner, &group, &range).await?;
    Ok(Json(SeriesBody::new(None, &range, &series)).into_response())
}
