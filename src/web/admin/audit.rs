//! What administrators did.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::{Admin, ListPage, ListQuery, Section};
use crate::abuse::Abuse;
use crate::domain::AuditEntry;
use crate::http::{ApiError, QueryOf};
use crate::web::page::{Site, minute, own_page};

/// Something that was done.
#[derive(Template)]
#[template(path = "admin/audit.html")]
struct AuditRow {
    action: String,
    subject: String,
    detail: String,
    by: String,
    at: String,
}

impl AuditRow {
    fn of(entry: AuditEntry) -> Self {
        Self {
            action: entry.action.replace('_', " "),
            subject: entry.subject,
            detail: entry.detail,
            by: match entry.user {
                Some(user) => format!("account {}, {}", user.0, entry.address),
                None => entry.address,
            },
            at: minute(entry.at),
        }
    }
}

pub(in crate::web) async fn show(
    State(abuse): State<Arc<Abuse>>,
    State(site): State<Site>,
    admin: Admin,
    QueryOf(query): QueryOf<ListQuery>,
) -> Result<Response, ApiError> {
    let found = async { Ok(abuse.audit(&query.wanted(&abuse).await?).await?) };
    let found = found.await;
    let page = ListPage::new(&site, &admin, Section::AUDIT, &query, found, AuditRow::of)?;
    own_page(StatusCode::OK, &page)
}
