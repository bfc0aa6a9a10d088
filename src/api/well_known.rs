//! `GET /robots.txt` and `GET /.well-known/security.txt`.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use super::BaseAddress;
use crate::http::ApiError;
#[cfg(test)]
use crate::http::documented::ErrorBody;
use crate::links::LinkService;

/// Robots may follow links, as their owners want them found, and have no business on the service's own pages.
const ROBOTS: &str =
    "User-agent: *\nDisallow: /app\nDisallow: /auth/\nDisallow: /docs\nDisallow: /urls/\n";

/// Where to report a weakness, if the operator says so.
#[derive(Clone)]
pub struct SecurityContact(pub Option<Arc<str>>);

/// How long a `security.txt` is valid; RFC 9116 asks for less than a year.
const VALID_FOR: Duration = Duration::from_hours(300 * 24);

fn text(body: impl IntoResponse) -> Response {
    ([(CONTENT_TYPE, "text/plain; charset=utf-8")], body).into_response()
}

/// What robots should not visit.
#[utoipa::path(
    get, path = "/robots.txt", tag = "operations", operation_id = "robots",
    responses((status = 200, description = "Rules by RFC 9309", body = String, content_type = "text/plain")),
)]
pub(super) async fn robots() -> Response {
    text(ROBOTS)
}

/// Where to report a vulnerability.
#[utoipa::path(
    get, path = "/.well-known/security.txt", tag = "operations", operation_id = "security",
    responses(
        (status = 200, description = "The contact, by RFC 9116", body = String, content_type = "text/plain"),
        (status = 404, description = "The operator named no contact", body = ErrorBody, example = json!({"detail": "Not Found"})),
    ),
)]
pub(super) async fn security(
    State(SecurityContact(contact)): State<SecurityContact>,
    State(links): State<Arc<LinkService>>,
    State(base_address): State<BaseAddress>,
) -> Result<Response, ApiError> {
    let contact = contact.ok_or_else(ApiError::not_found)?;
    let expires = links.clock.now().after(VALID_FOR);
    let base = base_address.as_str();
    Ok(text(format!(
        "Contact: {contact}\nExpires: {expires}\nCanonical: {base}/.well-known/security.txt\n"
    )))
}
