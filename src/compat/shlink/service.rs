//! The service itself: its health, its domains, and that it has no hub of events.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::answer::answered;
use super::asked::caller;
use super::problem::Problem;
use crate::accounts::Access;
use crate::compat::caller::Asking;
use crate::compat::said::said;
use crate::compat::services::Services;
use crate::domain::{Location, ServedHost};
use crate::http::{ApiError, json_line};

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
    let told = async {
        let caller = caller(&services, &asking, &headers, Access::Read).await?;
        let others = services.links.hosts_of(caller.principal).await;
        let others = others.map_err(ApiError::from)?;
        let nowhere = redirects(None);
        let own = json!({"domain": services.site.host(), "isDefault": true, "redirects": nowhere});
        let other = |name: String| {
            let redirects = redirects(services.site.other(&name).as_deref());
            json!({"domain": name, "isDefault": false, "redirects": redirects})
        };
        let data: Vec<_> = [own]
            .into_iter()
            .chain(others.into_iter().map(other))
            .collect();
        Ok(json!({"domains": {"data": data, "defaultRedirects": nowhere}}))
    };
    answered(told.await)
}

/// Where a domain leads: an unknown code is an invalid short URL there.
fn redirects(host: Option<&ServedHost>) -> Value {
    let leads =
        |location: Option<&Arc<Location>>| location.map(|location| location.as_str().to_owned());
    json!({
        "baseUrlRedirect": leads(host.and_then(|host| host.root.as_ref())),
        "regular404Redirect": null,
        "invalidShortUrlRedirect": leads(host.and_then(|host| host.not_found.as_ref())),
    })
}

pub(super) async fn mercure(
    State(services): State<Services>,
    asking: Asking,
    headers: HeaderMap,
) -> Response {
    let told = caller(&services, &asking, &headers, Access::Read).await;
    answered(told.and_then(|_| Err(Problem::no_mercure())))
}
