//! The service itself: its health, its domains, and that it has no hub of events.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::answer::answered;
use super::asked::caller;
use super::problem::Problem;
use crate::accounts::Access;
use crate::compat::caller::Asking;
use crate::compat::said::said;
use crate::compat::services::Services;
use crate::http::json_line;

/// The version whose answers these are.
const VERSION: &str = "4.0.0";

pub(super) async fn health() -> Response {
    let body = json!({"status": "pass", "version": VERSION, "links": {}});
    let kind = HeaderValue::from_static("application/health+json");
    said(([(CONTENT_TYPE, kind)], json_line(&body)).into_response())
}

pub(super) async fn domains(
    State(services): State<Services>,
    asking: Asking,
    headers: HeaderMap,
) -> Response {
    let redirects = json!({
        "baseUrlRedirect": null,
        "regular404Redirect": null,
        "invalidShortUrlRedirect": null,
    });
    let own = json!({
        "domain": services.site.host(),
        "isDefault": true,
        "redirects": redirects,
    });
    let told = caller(&services, &asking, &headers, Access::Read).await;
    answered(told.map(|_| json!({"domains": {"data": [own], "defaultRedirects": redirects}})))
}

pub(super) async fn mercure(
    State(services): State<Services>,
    asking: Asking,
    headers: HeaderMap,
) -> Response {
    let told = caller(&services, &asking, &headers, Access::Read).await;
    answered(told.and_then(|_| Err(Problem::no_mercure())))
}
