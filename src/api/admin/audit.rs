//! `GET /admin/audit`: what administrators did.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

#[cfg(test)]
use super::NeedsRole;
use super::PageQuery;
use crate::abuse::Abuse;
use crate::api::authentication::Admin;
#[cfg(test)]
use crate::api::words::ActionWord;
use crate::domain::AuditEntry;
#[cfg(test)]
use crate::http::documented::{ErrorBody, NeedsDatabase, NeedsToken, TakesQuery};
use crate::http::{ApiError, Json, QueryOf};

/// Something that an administrator did.
#[derive(Serialize, ToSchema)]
struct AuditEntryBody {
    /// Identifier.
    #[schema(example = 21, minimum = 1)]
    id: i64,
    /// When, in UTC.
    #[schema(example = "2027-01-31T18:00:00.123456Z", format = DateTime)]
    at: String,
    /// The account of the administrator; `null`: the operator on the command line.
    #[schema(required = true, example = 1)]
    user: Option<i64>,
    /// The address of the administrator's client.
    #[schema(example = "198.51.100.7")]
    address: String,
    /// `remove`, `revoke`, `grant`, `revoke_role`, `reset_password`, `close_report`, `see_targets` (of links with a
    /// password), `add_domain`, `edit_domain` or `remove_domain`.
    #[schema(value_type = ActionWord)]
    action: String,
    /// To what.
    #[schema(example = "removal 7")]
    subject: String,
    /// In more words.
    #[schema(example = "link K7mXq2R: phishing")]
    detail: String,
}

impl AuditEntryBody {
    fn new(entry: AuditEntry) -> Self {
        Self {
            id: entry.id,
            at: entry.at.with_micros(),
            user: entry.user.map(|user| user.0),
            address: entry.address,
            action: entry.action,
            subject: entry.subject,
            detail: entry.detail,
        }
    }
}

/// A page of the audit.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct AuditBody {
    /// The entries, newest first.
    entries: Vec<AuditEntryBody>,
    /// `before` of the next page, if there is a next page.
    #[schema(required = true, example = 21)]
    next: Option<i64>,
}

/// See what administrators did, newest first.
#[utoipa::path(
    get, path = "/admin/audit", tag = "administration", operation_id = "audit", params(PageQuery),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The entries", body = AuditBody),
        (status = 422, description = "A parameter breaks its rule", body = ErrorBody, example = json!({"detail": "limit: must be from 1 to 200"})),
        TakesQuery, NeedsToken, NeedsRole, NeedsDatabase,
    ),
)]
pub(in crate::api) async fn audit(
    State(abuse): State<Arc<Abuse>>,
    _: Admin,
    QueryOf(query): QueryOf<PageQuery>,
) -> Result<Json<AuditBody>, ApiError> {
    let wanted = query.wanted()?;
    let found = abuse.audit(&wanted).await?;
    Ok(Json(AuditBody {
        entries: found.entries.into_iter().map(AuditEntryBody::new).collect(),
        next: found.next,
    }))
}
