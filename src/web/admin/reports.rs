//! Links that visitors reported.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::{Admin, ListQuery, Listed, Section, removal_path};
use crate::abuse::Abuse;
use crate::domain::{RemovalStatus, Report};
use crate::http::{ApiError, QueryOf};
use crate::web::page::{Frame, Site, minute, own_page};

const PATH: &str = "/app/admin/reports";

#[derive(Template)]
#[template(path = "admin/reports.html")]
struct ReportsPage<'a> {
    frame: Frame<'a>,
    section: Section<'a>,
    list: Listed<Row>,
}

/// A report.
struct Row {
    code: String,
    target: String,
    reason: String,
    address: String,
    at: String,
    removed: Option<u16>,
    remove_path: String,
}

impl Row {
    fn of(report: Report) -> Self {
        let code = report.code.to_string();
        Self {
            remove_path: removal_path("link", &code),
            code,
            target: report.target.as_str().to_owned(),
            reason: report.reason,
            address: report.address,
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
        list: Listed::of(found.await, &query, PATH, Row::of)?,
    };
    own_page(StatusCode::OK, &page)
}
