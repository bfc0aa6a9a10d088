//! `DELETE /admin/reports/{id}`: closes a report.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;

#[cfg(test)]
use super::NeedsRole;
use crate::abuse::{Abuse, AbuseError};
use crate::api::authentication::Admin;
use crate::http::ApiError;
#[cfg(test)]
use crate::http::documented::{ErrorBody, NeedsDatabase, NeedsToken};

/// Close a report.
///
/// It is removed from the list, and the audit keeps its reason; the link has room for another report then.
#[utoipa::path(
    delete, path = "/admin/reports/{id}", tag = "administration", operation_id = "close_report",
    params(("id" = i64, Path, description = "Identifier of a report", example = 5, minimum = 1)),
    security(("bearer" = [])),
    responses(
        (status = 204, description = "The report is closed"),
        (status = 404, description = "No open report has this identifier", body = ErrorBody,
            example = json!({"detail": "Report not found"})),
        NeedsToken, NeedsRole, NeedsDatabase,
    ),
)]
pub(in crate::api) async fn close_report(
    State(abuse): State<Arc<Abuse>>,
    Admin(administrator): Admin,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    // No report has the number 0.
    let id = id.parse().unwrap_or_default();
    let closed = abuse.close_report(&administrator, id, false).await;
    closed.map_err(|error| match error {
        AbuseError::Unknown => ApiError::report_not_found(),
        error => error.into(),
    })?;
    Ok(StatusCode::NO_CONTENT)
}
