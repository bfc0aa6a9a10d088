//! `POST /report`: a visitor reports a link.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::domain::{DomainId, InvalidRemoval, InvalidSearch, Reason};
#[cfg(test)]
use crate::http::documented::{
    ErrorBody, Limited, NeedsDatabase, NeedsRoom, TakesBody, TakesNoToken,
};
use crate::http::paths::parse_code;
use crate::http::{ApiError, ClientAddress, JsonBody};
use crate::links::LinkService;

/// A report of a link.
#[derive(Deserialize, ToSchema)]
pub(super) struct NewReportBody {
    /// Code of the link.
    #[schema(example = "K7mXq2R")]
    short_code: String,
    /// Its host; left out, it is the service's own.
    #[schema(example = "go.example.org")]
    domain: Option<String>,
    /// What is wrong with it.
    #[schema(
        example = "It asks for my bank's password",
        min_length = 1,
        max_length = 1000
    )]
    reason: String,
}

/// Report a link.
///
/// The administrators of this service see the report, with a hash of the client's address, until they close it. A link
/// keeps two reports by one address, and 20 in all; beyond that, the oldest report by the address with most reports is
/// dropped.
#[utoipa::path(
    post, path = "/report", tag = "links", operation_id = "report",
    request_body(content = NewReportBody, description = "Any JSON object with these fields; others are ignored"),
    responses(
        (status = 202, description = "The report is noted"),
        (status = 404, description = "No link has this code", body = ErrorBody, example = json!({"detail": "URL not found"})),
        TakesNoToken, TakesBody, Limited, NeedsRoom, NeedsDatabase,
    ),
)]
pub(super) async fn report(
    State(links): State<Arc<LinkService>>,
    client: ClientAddress,
    JsonBody(body): JsonBody<NewReportBody>,
) -> Result<StatusCode, ApiError> {
    let invalid = |error: InvalidRemoval| ApiError::invalid(error.to_string());
    let reason = Reason::parse(&body.reason).map_err(invalid)?;
    let domain = match &body.domain {
        None => Some(DomainId::OWN),
        Some(host) => links.domain_named(host),
    };
    let unknown = || ApiError::invalid(InvalidSearch::Domain.to_string());
    let domain = domain.ok_or_else(unknown)?;
    let code = parse_code(&body.short_code).ok_or_else(ApiError::url_not_found)?;
    let code = code.at(domain);
    if links.report(&code, &reason, client.as_str()).await? {
        Ok(StatusCode::ACCEPTED)
    } else {
        Err(ApiError::url_not_found())
    }
}
