//! Links that visitors reported.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::{Admin, ListQuery, Listed, Section, removal_path};
use crate::abuse::{Abuse, AbuseError};
use crate::domain::{RemovalStatus, Report};
use crate::http::{ApiError, QueryOf};
use crate::web::form::Form;
use crate::web::page::{Frame, Site, minute, own_page, see_other};

const PATH: &str = "/app/admin/reports";

#[derive(Template)]
#[template(path = "admin/reports.html")]
struct ReportsPage<'a> {
    frame: Frame<'a>,
    section: Section<'a>,
    said: &'static str,
    list: Listed<ReportRow>,
}

/// A report.
struct ReportRow {
    id: i64,
    code: String,
    target: String,
    reason: String,
    reporter: String,
    at: String,
    removed: Option<u16>,
    remove_path: String,
}

impl ReportRow {
    fn of(report: Report) -> Self {
        let code = report.code.to_string();
        Self {
            id: report.id,
            remove_path: removal_path("link", &code),
            code,
            target: report.target.as_str().to_owned(),
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
    let found = async { Ok(abuse.reports(&query.wanted(&abuse).await?).await?) };
    let page = ReportsPage {
        frame: Frame::own(&site, admin.signed_in.owner()),
        section: Section::new(&admin, PATH),
        said: match query.done.as_str() {
            "closed" => "The report is closed.",
            "none" => "This report was already closed.",
            _ => "",
        },
        list: Listed::of(found.await, &query, PATH, ReportRow::of)?,
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
