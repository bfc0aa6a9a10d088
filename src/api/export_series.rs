//! `GET /urls/{short_code}/stats/export`: what is known of a link's clicks, for a spreadsheet.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use super::authentication::TokenOwner;
use super::series_body::SeriesQuery;
use crate::accounts::Accounts;
#[cfg(test)]
use crate::http::documented::{
    CodeParameter, ErrorBody, NeedsDatabase, NeedsReadKey, NeedsToken, TakesQuery,
};
use crate::http::{ApiError, PathCode, QueryOf, clicks_csv, with_clicks_as_of};
use crate::links::{LinkService, WantedBreakdown};

/// Export what is known of a link's clicks.
///
/// The series of one of your links as CSV, one line for each point: `by` names the interval, `value` is when it starts.
/// Then the breakdowns of the same time, one line for each row: `by` is `referrer`, `country`, `browser`, `os`, `device` or
/// `bot`, and those of each code in rows `code` without `people`. An empty `value` is unknown; past 1,000 values of each, the rest is `other`. A cell that a spreadsheet would
/// take for a formula has an apostrophe before it.
#[utoipa::path(
    get, path = "/urls/{short_code}/stats/export", tag = "links", operation_id = "export_series",
    params(CodeParameter, SeriesQuery), security(("bearer" = [])),
    responses(
        (status = 200, description = "The series and the breakdowns", content((String = "text/csv")), headers(
            ("Content-Disposition" = String, description = "A name for the file"),
            ("Clicks-As-Of" = String, description = "Present only if exact click counts cannot be read: all clicks up to this moment are counted, and some later clicks"),
        )),
        (status = 404, description = "No link of yours has this code", body = ErrorBody,
            example = json!({"detail": "URL not found"})),
        (status = 422, description = "A parameter is unknown or not acceptable: `detail` names it", body = ErrorBody,
            example = json!({"detail": "interval: must be hour, day or month"})),
        TakesQuery, NeedsToken, NeedsReadKey, NeedsDatabase,
    ),
)]
pub(super) async fn export_series(
    State(links): State<Arc<LinkService>>,
    State(accounts): State<Arc<Accounts>>,
    TokenOwner(owner): TokenOwner,
    PathCode(code): PathCode,
    query: Result<QueryOf<SeriesQuery>, ApiError>,
) -> Result<Response, ApiError> {
    let asked = query.and_then(|QueryOf(query)| query.range(links.clock.now()));
    let found = match (&asked, &code) {
        (Ok(range), Some(code)) => links.own_series(owner, code, range).await?,
        _ => None,
    };
    let Some((counted, compared)) = found else {
        // A link would have shown that the account still exists.
        accounts.user(owner).await?;
        asked?;
        return Err(ApiError::url_not_found());
    };
    let (code, range) = (&counted.link.code, asked?);
    let breakdowns = links.breakdowns(owner, code, WantedBreakdown::all(&range));
    let breakdowns = breakdowns.await?.unwrap_or_default();
    let by_code = links.clicks_by_code(owner, code, &range).await?;
    let (name, series) = (code.as_str(), &compared.series);
    let csv = clicks_csv(name, &range, series, &breakdowns, by_code.as_ref())?;
    Ok(with_clicks_as_of(csv, compared.as_of))
}
