//! The inbox of reports: links that visitors reported, each with its reports, its account, and what can be done.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::account_facts::removed_of;
use super::{Admin, ListPage, ListQuery, Section, moment};
use crate::abuse::{Abuse, AbuseError};
use crate::domain::{LinkReport, RemovalStatus, ReportState, ReportedLink, ReportsWanted, Rules};
use crate::http::{ApiError, QueryOf};
use crate::web::form::Form;
use crate::web::language::Language;
use crate::web::page::{Site, own_page, see_other};

/// Links of a page.
const LINKS_PER_PAGE: u32 = 25;

/// A link with its reports.
#[derive(Template)]
#[template(path = "admin/reports.html")]
struct ReportRow<'a> {
    language: Language,
    csrf: &'a str,
    /// The newest report: it is closed with those before it.
    id: i64,
    is_open: bool,
    code: String,
    target: String,
    fallback: Option<String>,
    /// Where its rules lead.
    rules: Vec<String>,
    removed: Option<String>,
    owner: i64,
    email: String,
    is_banned: bool,
    /// Links of the account that are removed, this one included.
    removed_links: Option<String>,
    made: String,
    /// Reports in the state that the page shows.
    reports: Vec<ShownReport>,
    /// The others.
    earlier: Vec<ShownReport>,
    earlier_title: String,
}

struct ShownReport {
    reason: String,
    reporter: String,
    at: String,
    closed: Option<String>,
}

impl ShownReport {
    fn of(report: LinkReport, language: Language) -> Self {
        let closed = |at| language.with("admin_closed_at", &[("date", &moment(language, at))]);
        Self {
            reason: report.reason,
            reporter: report.reporter,
            at: moment(language, report.reported_at),
            closed: report.closed_at.map(closed),
        }
    }
}

impl<'a> ReportRow<'a> {
    fn of(link: ReportedLink, state: ReportState, abuse: &Abuse, admin: &'a Admin) -> Self {
        let language = admin.language();
        let is_open = state == ReportState::Open;
        let (shown, earlier): (Vec<_>, Vec<_>) = link
            .reports
            .into_iter()
            .partition(|report| report.closed_at.is_none() == is_open);
        let reports = |reports: Vec<LinkReport>| {
            let reports = reports.into_iter();
            reports
                .map(|report| ShownReport::of(report, language))
                .collect()
        };
        let removed = |status: RemovalStatus| {
            let status = status.code().to_string();
            language.with("admin_removed_with", &[("status", &status)])
        };
        Self {
            language,
            csrf: admin.signed_in.owner().csrf,
            id: link.newest,
            is_open,
            code: abuse.shown_code(&link.code),
            rules: (link.rules.iter().flat_map(Rules::targets))
                .map(|target| target.as_str().to_owned())
                .collect(),
            target: link.target.as_str().to_owned(),
            fallback: link.fallback.map(|fallback| fallback.as_str().to_owned()),
            removed: link.removed.map(removed),
            owner: link.owner.0,
            email: link.email,
            is_banned: link.is_banned,
            removed_links: removed_of(language, link.removed_links),
            made: moment(language, link.created_at),
            earlier_title: if is_open {
                language.count("admin_earlier_reports", earlier.len() as u64)
            } else {
                language.count("admin_also_open", earlier.len() as u64)
            },
            reports: reports(shown),
            earlier: reports(earlier),
        }
    }
}

/// Leads to open and to closed reports.
#[derive(Template)]
#[template(path = "admin/report_states.html")]
struct ReportStates {
    language: Language,
    is_closed: bool,
}

pub(in crate::web) async fn show(
    State(abuse): State<Arc<Abuse>>,
    State(site): State<Site>,
    admin: Admin,
    QueryOf(query): QueryOf<ListQuery>,
) -> Result<Response, ApiError> {
    let language = admin.language();
    let is_closed = query.state == "closed";
    let state = if is_closed {
        ReportState::Closed
    } else {
        ReportState::Open
    };
    let wanted = ReportsWanted {
        state,
        before: query.before.parse().ok(),
        limit: LINKS_PER_PAGE,
    };
    let found = abuse.reported_links(&admin.administrator, &wanted).await?;
    let row = |link| ReportRow::of(link, state, &abuse, &admin);
    let mut page = ListPage::new(&site, &admin, Section::REPORTS, &query, Ok(found), row)?;
    page.said = match query.done.as_str() {
        "closed" => language.text("admin_report_closed"),
        "removed" => language.text("admin_report_removed"),
        "none" => language.text("admin_report_was_closed"),
        _ => "",
    };
    let states = ReportStates {
        language,
        is_closed,
    };
    own_page(StatusCode::OK, &page.with_form(&states)?)
}

/// Closes a report, and the earlier reports of its link.
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
    match abuse.close_report(&admin.administrator, id, true).await {
        Ok(()) => Ok(see_other("/app/admin/reports?done=closed")),
        Err(AbuseError::Unknown) => Ok(see_other("/app/admin/reports?done=none")),
        Err(error) => Err(error.into()),
    }
}
