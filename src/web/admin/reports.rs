//! Links that visitors reported.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::{Admin, ListPage, ListQuery, Section, removal_path};
use crate::abuse::{Abuse, AbuseError};
use crate::domain::{RemovalStatus, Report, Rules};
use crate::http::{ApiError, QueryOf};
use crate::web::form::Form;
use crate::web::page::{Site, minute, own_page, see_other};

/// A report.
#[derive(Template)]
#[template(path = "admin/reports.html")]
struct ReportRow<'a> {
    csrf: &'a str,
    id: i64,
    code: String,
    target: String,
    fallback: Option<String>,
    /// Where its rules lead.
    rules: Vec<String>,
    reason: String,
    reporter: String,
    at: String,
    removed: Option<u16>,
    remove_path: String,
}

impl<'a> ReportRow<'a> {
    fn of(report: Report, abuse: &Abuse, admin: &'a Admin) -> Self {
        let code = abuse.shown_code(&report.code);
        Self {
            csrf: admin.signed_in.owner().csrf,
            id: report.id,
            remove_path: removal_path("link", &code),
            code,
            rules: (report.rules.iter().flat_map(Rules::targets))
                .map(|target| target.as_str().to_owned())
                .collect(),
            target: report.target.as_str().to_owned(),
            fallback: report.fallback.map(|fallback| fallback.as_str().to_owned()),
            reason: report.reason,
            reporter: report.reporter,
            at: minute(report.reported_at),
            removed: report.removed.map(RemovalStatus::code),
        }
    }
}

pub(in crate::web) async fn show(
    State(abuse): State<Arc<Abuse>>,
    State(site): State<Site>,
    admin: Admin,
    QueryOf(query): QueryOf<ListQuery>,
) -> Result<Response, ApiError> {
    let found = async {
        Ok(abuse
            .reports(&admin.administrator, &query.wanted(&abuse).await?)
            .await?)
    };
    let row = |report| ReportRow::of(report, &abuse, &admin);
    let mut page = ListPage::new(&site, &admin, Section::REPORTS, &query, found.await, row)?;
    page.said = match query.done.as_str() {
        "closed" => "The report is closed.",
        "none" => "This report was already closed.",
        _ => "",
    };
    own_page(StatusCode::OK, &page)
}

pub(in crate::web) async fn close(
    State(abuse): State<Arc<Abuse>>,
    State(site): State<Site>,
    admin: Admin,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, ApiError> {
    admin.signed_in.check(&site, &form)?;
    // No report has the number 0.
    let id = id.parse().unwrap_or_default();
    match abuse.close_report(&admin.administrator, id).await {
        Ok(()) => Ok(see_other("/app/admin/reports?done=closed")),
        Err(AbuseError::Unknown) => Ok(see_other("/app/admin/reports?done=none")),
        Err(error) => Err(error.into()),
    }
}
