//! `GET /admin/reports`: links that visitors reported.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

#[cfg(test)]
use super::NeedsRole;
use super::{PageQuery, rule_targets};
use crate::abuse::Abuse;
use crate::api::authentication::Admin;
use crate::api::base_address::BaseAddress;
#[cfg(test)]
use crate::api::words::status_of_link;
use crate::domain::{RemovalStatus, Report};
#[cfg(test)]
use crate::http::documented::{ErrorBody, NeedsDatabase, NeedsToken, TakesQuery};
use crate::http::{ApiError, Json, QueryOf};

/// A report of a link.
#[derive(Serialize, ToSchema)]
struct ReportBody {
    /// Identifier.
    #[schema(example = 5, minimum = 1)]
    id: i64,
    /// The link's path.
    #[schema(example = "K7mXq2R")]
    short_code: String,
    /// The host of the link; `null`: this service's own.
    #[schema(required = true, example = json!(null))]
    domain: Option<String>,
    /// Its target.
    #[schema(example = "https://example.org/a/long/path")]
    target_url: String,
    /// Where visitors are sent while it is not followed, if its owner chose something.
    #[schema(required = true, example = "https://example.org/later")]
    fallback_url: Option<String>,
    /// Where its rules send some visitors.
    #[schema(example = json!(["https://example.org/app"]))]
    rule_targets: Vec<String>,
    /// 410 or 451, if the link is removed by now.
    #[schema(schema_with = status_of_link, required = true)]
    removed: Option<u16>,
    /// Whether visitors have to give a password.
    has_password: bool,
    /// Why it was reported.
    #[schema(example = "phishing")]
    reason: String,
    /// A hash of the client's address, which is not kept: reports by one address have the same one.
    #[schema(example = "9f86d081884c7d65")]
    reporter: String,
    /// When, in UTC.
    #[schema(example = "2027-01-31T18:00:00.123456Z", format = DateTime)]
    reported_at: String,
}

impl ReportBody {
    fn new(report: Report, base_address: &BaseAddress) -> Self {
        Self {
            id: report.id,
            short_code: report.code.to_string(),
            domain: base_address.host_of(&report.code),
            target_url: report.target.as_str().to_owned(),
            rule_targets: rule_targets(report.rules.as_ref()),
            fallback_url: report.fallback.map(|fallback| fallback.as_str().to_owned()),
            removed: report.removed.map(RemovalStatus::code),
            has_password: report.has_password,
            reason: report.reason,
            reporter: report.reporter,
            reported_at: report.reported_at.with_micros(),
        }
    }
}

/// A page of reports.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct ReportsBody {
    /// The reports, newest first.
    reports: Vec<ReportBody>,
    /// `before` of the next page, if there is a next page.
    #[schema(required = true, example = 5)]
    next: Option<i64>,
}

/// List reports of links, newest first.
#[utoipa::path(
    get, path = "/admin/reports", tag = "administration", operation_id = "list_reports", params(PageQuery),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The reports", body = ReportsBody),
        (status = 422, description = "A parameter breaks its rule", body = ErrorBody, example = json!({"detail": "limit: must be from 1 to 200"})),
        TakesQuery, NeedsToken, NeedsRole, NeedsDatabase,
    ),
)]
pub(in crate::api) async fn reports(
    State(abuse): State<Arc<Abuse>>,
    State(base_address): State<BaseAddress>,
    Admin(administrator): Admin,
    QueryOf(query): QueryOf<PageQuery>,
) -> Result<Json<ReportsBody>, ApiError> {
    let wanted = query.wanted()?;
    let found = abuse.reports(&administrator, &wanted).await?;
    Ok(Json(ReportsBody {
        reports: found
            .entries
            .into_iter()
            .map(|report| ReportBody::new(report, &base_address))
            .collect(),
        next: found.next,
    }))
}
