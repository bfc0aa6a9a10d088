//! The statistics of a link: the last day, week, month and year, each with what is known of visitors.

use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde_json::{Map, Value, json};

use super::answer::{Refusal, caller, link, moment};
use super::links::{answered, code_of, not_found};
use crate::accounts::Access;
use crate::compat::caller::{Asking, Caller};
use crate::compat::services::Services;
use crate::domain::{Dimension, RangeQuery, SeriesRange, ShortCode, Timestamp};
use crate::http::ApiError;
use crate::links::WantedBreakdown;
use crate::store::Breakdown;

/// The periods: name, the step of its views, and days before today where that is not the usual number: 24 hours, 30 days or 12
/// months.
const PERIODS: [(&str, &str, Option<u32>); 4] = [
    ("lastDay", "hour", None),
    ("lastWeek", "day", Some(6)),
    ("lastMonth", "day", None),
    ("lastYear", "month", None),
];

const DAY: Duration = Duration::from_hours(24);

/// Rows of each property at most.
const ROWS: u32 = 100;

pub(super) async fn stats(
    State(services): State<Services>,
    Path(id): Path<String>,
    asking: Asking,
    headers: HeaderMap,
) -> Response {
    answered(
        StatusCode::OK,
        told(&services, &id, &asking, &headers).await,
    )
}

async fn told(
    services: &Services,
    id: &str,
    asking: &Asking,
    headers: &HeaderMap,
) -> Result<Value, Refusal> {
    let caller = caller(services, asking, headers, Access::Read).await?;
    let code = code_of(id)?;
    let shown = services.links.show(caller.principal, &code).await;
    let shown = shown.map_err(ApiError::from)?.ok_or_else(not_found)?;
    let now = services.links.clock.now();
    let mut answer = link(services, &shown.link, shown.clicks);
    for (name, step, days) in PERIODS {
        answer[name] = period(services, &caller, &shown.link.code, (step, days), now).await?;
    }
    answer["updatedAt"] = moment(now).into();
    Ok(answer)
}

async fn period(
    services: &Services,
    caller: &Caller,
    code: &ShortCode,
    (step, days): (&str, Option<u32>),
    now: Timestamp,
) -> Result<Value, Refusal> {
    let from = days.map(|days| now.before(DAY * days).date());
    let query = RangeQuery {
        interval: Some(step),
        from: from.as_deref(),
        ..RangeQuery::default()
    };
    let range = SeriesRange::parse(query, now);
    let range = range.map_err(|why| ApiError::internal(&why.to_string()))?;
    let links = &services.links;
    let series = links.series(code, &range, &caller.address).await;
    let (_, series) = series.map_err(ApiError::from)?.ok_or_else(not_found)?;
    let views: Vec<_> = series
        .points
        .iter()
        .map(|(_, tally)| tally.clicks)
        .collect();
    let total: u64 = views.iter().sum();
    let wanted = WantedBreakdown {
        limit: ROWS,
        ..WantedBreakdown::all(&range)
    };
    let mut stats = Map::new();
    for (name, by) in [
        ("browser", Dimension::Browser),
        ("os", Dimension::Os),
        ("country", Dimension::Country),
        ("referrer", Dimension::Referrer),
    ] {
        let found = links
            .breakdown(caller.principal, code, by, wanted.clone())
            .await;
        let found = found.map_err(ApiError::from)?.ok_or_else(not_found)?;
        stats.insert(name.to_owned(), rows(by, &found));
    }
    Ok(json!({"stats": stats, "views": views, "total": total}))
}

/// The values, as the protocol writes them: lower case, and the unknown as `Direct` or `Unknown`.
fn rows(by: Dimension, found: &Breakdown) -> Value {
    let unknown = match by {
        Dimension::Referrer => "Direct",
        Dimension::Country => "Unknown",
        _ => "other",
    };
    let rows = found.rows.iter().map(|(value, sum)| {
        let value = value.as_deref().unwrap_or(unknown);
        let name = match by {
            Dimension::Browser | Dimension::Os => value.to_ascii_lowercase(),
            _ => value.to_owned(),
        };
        json!({"name": name, "value": sum.clicks})
    });
    rows.collect()
}
