//! `GET /urls/{short_code}/stats/breakdown`: who followed a link.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};

use super::authentication::TokenOwner;
#[cfg(test)]
use super::breakdown_body::ParametersOfLink;
use super::breakdown_body::{BreakdownBody, BreakdownParameters};
use crate::accounts::Accounts;
use crate::domain::Dimension;
#[cfg(test)]
use crate::http::documented::{
    CodeParameter, ErrorBody, NeedsDatabase, NeedsReadKey, NeedsToken, TakesQuery,
};
use crate::http::{ApiError, Json, PathCode, QueryOf, with_clicks_as_of};
use crate::links::LinkService;

/// Who followed one of your links?
///
/// Clicks by referrer, country, browser, system, device, rule or bot; filters combine. Of visitors nothing else is kept, and of some
/// not even that: those have the value `null`. A click is in the series at once, and in a row within 2 s; later if the database is
/// busy. Clicks from before visitor classes were recorded are not included. Clicks that another service counted have the referrer
/// `imported`, belong to the quarter of an hour in which the link was imported, and do not count as people. Days older than
/// `ANALYTICS_DETAIL_DAYS` are kept as a whole (UTC): such a day is included if it begins in the range.
///
/// `by=code` says by which code the link was followed: its own, or an alias. Without a filter but `code` these are exact counts, also
/// with `ANALYTICS=off`; the clicks of an alias that was taken away, and clicks that another service counted, are clicks of the own code.
/// They are counted without what is known of visitors, so `people` is `null` in their rows. With another filter, and as a filter of
/// another breakdown, a code is kept with the class of a visitor; clicks without a class are clicks of the own code.
#[utoipa::path(
    get, path = "/urls/{short_code}/stats/breakdown", tag = "links", operation_id = "link_breakdown",
    params(CodeParameter, ParametersOfLink), security(("bearer" = [])),
    responses(
        (status = 200, description = "The breakdown", body = BreakdownBody, headers(
            ("Clicks-As-Of" = String, description = "Present only with `by=code` and if exact click counts cannot be read: all clicks up to this moment are counted, and some later clicks"),
        )),
        (status = 404, description = "No link of yours has this code", body = ErrorBody, example = json!({"detail": "URL not found"})),
        (status = 422, description = "A parameter is unknown or not acceptable: `detail` names it", body = ErrorBody, examples(
            ("by" = (value = json!({"detail": "by: must be referrer, country, browser, os, device, rule or bot, or code of a single link, such as by=country"}))),
            ("limit" = (value = json!({"detail": "limit: must be 1 to 1000, such as limit=10"}))),
        )),
        TakesQuery, NeedsToken, NeedsReadKey, NeedsDatabase,
    ),
)]
pub(super) async fn link_breakdown(
    State(links): State<Arc<LinkService>>,
    State(accounts): State<Arc<Accounts>>,
    TokenOwner(owner): TokenOwner,
    PathCode(code): PathCode,
    query: Result<QueryOf<BreakdownParameters>, ApiError>,
) -> Result<Response, ApiError> {
    // Of an account that is gone nothing is said.
    accounts.user(owner).await?;
    let QueryOf(query) = query?;
    if query.tag.is_some() {
        let detail = "tag: is for all links together, as /urls/my/breakdown?tag=spring";
        return Err(ApiError::invalid(detail.to_owned()));
    }
    let now = links.clock.now();
    let (by, wanted) = query.wanted(now)?;
    let code = code.ok_or_else(ApiError::url_not_found)?;
    if let (Dimension::Code, Some(only)) = (by, wanted.only_code()) {
        let found = links.clicks_by_code(owner, &code, &wanted.range).await?;
        let mut found = found.ok_or_else(ApiError::url_not_found)?;
        if let Some(only) = only {
            found.rows.retain(|(code, _)| code.as_str() == only);
            found.clicks = found.rows.iter().map(|(_, clicks)| clicks).sum();
            found.people = None;
        }
        let as_of = found.as_of;
        let body = BreakdownBody::by_code(&found, wanted.limit);
        return Ok(with_clicks_as_of(Json(body).into_response(), as_of));
    }
    let found = links.breakdown(owner, &code, by, wanted).await?;
    let found = found.ok_or_else(ApiError::url_not_found)?;
    Ok(Json(BreakdownBody::new(by, found)).into_response())
}
