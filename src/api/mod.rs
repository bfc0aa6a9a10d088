//! The JSON API: one file per endpoint, and the routes, one a line.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{FromRef, MatchedPath, Request};
use axum::http::Method;
use axum::middleware::{Next, from_fn, from_fn_with_state, map_response};
use axum::response::Response;
use axum::{Extension, Router};
use utoipa::openapi::OpenApi as Document;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::abuse::Abuse;
use crate::accounts::Accounts;
use crate::config::{BaseUrl, Guards};
use crate::http::{
    self, Admission, BodyLimits, TrustedProxies, refuse_cross_origin, with_admission,
};
use crate::links::{LinkService, LiveCounts};
use crate::redirect::Redirect;
use crate::telemetry::exposition::Exposition;
use crate::telemetry::metrics::{HTTP_DURATION, HTTP_REQUESTS};
use crate::telemetry::requests::routed;
use crate::telemetry::seconds_since;

mod account_bodies;
mod admin;
mod authentication;
mod base_address;
mod breakdown_body;
mod bulk;
mod bulk_document;
mod change_password;
mod create_key;
mod delete_account;
mod delete_key;
mod delete_link;
mod document;
mod edit_link;
mod entity_tags;
mod explorer;
mod export;
mod export_series;
mod for_pages;
mod health;
mod idempotency_key;
mod key_body;
mod link_body;
mod link_breakdown;
mod link_series;
mod link_stream;
mod list_keys;
mod list_links;
mod live;
mod log_out_everywhere;
mod login;
mod me;
mod my_breakdown;
mod my_series;
mod prometheus;
mod qr;
mod ready;
mod register;
mod report;
mod series_body;
mod shorten;
mod show_link;
mod stats;
mod visit;
mod well_known;
mod words;

pub use base_address::BaseAddress;
pub use for_pages::{csv_of_links, ndjson_of_links};
pub use ready::Readiness;
pub use well_known::SecurityContact;

/// The services that handlers call; each takes the one it needs. The router copies this several times per request.
#[derive(Clone, FromRef)]
pub struct ApiState {
    /// Registration, log-in, tokens.
    pub accounts: Arc<Accounts>,
    /// Links of owners.
    pub links: Arc<LinkService>,
    /// Removals and reports.
    pub abuse: Arc<Abuse>,
    /// Counts as they rise.
    pub live: Arc<LiveCounts>,
    /// The redirect path, for codes that need decoding.
    pub redirect: Arc<Redirect>,
    /// The dependencies of readiness.
    pub readiness: Arc<Readiness>,
    /// Renders the metrics.
    pub metrics: Exposition,
    /// For links to the next page.
    pub base_address: BaseAddress,
    /// For `security.txt`.
    pub security_contact: SecurityContact,
}

/// The API: all routes, with metrics, security headers and fallbacks around them. `/metrics` is one of them where
/// `public_metrics` says so. `admission` bounds the requests that are worked on.
/// `pages` are routes beside the API's, which the same layers are put around.
pub fn router(
    state: ApiState,
    proxies: TrustedProxies,
    base_url: &BaseUrl,
    guards: &Guards,
    admission: &Admission,
    public_metrics: bool,
    pages: Router,
) -> Router {
    let (router, document) = routes(base_url, guards, admission, public_metrics).split_for_parts();
    start_at_zero(&document);
    router
        .with_state(state)
        .merge(pages)
        .fallback(http::not_found)
        .method_not_allowed_fallback(http::method_not_allowed)
        .layer(from_fn(measured))
        .layer(map_response(http::with_security_headers))
        .layer(Extension(document::DocumentJson::new(&document)))
        .layer(Extension(proxies))
        .layer(from_fn(http::catch_panic))
}

/// All routes, and the document that describes each. A handler's path is in its own description, and in the table
/// [`http::paths`].
fn routes(
    base_url: &BaseUrl,
    guards: &Guards,
    admission: &Admission,
    public_metrics: bool,
) -> OpenApiRouter<ApiState> {
    let own_origin = Arc::<str>::from(base_url.as_str());
    let without_token = OpenApiRouter::new()
        .routes(routes!(register::register))
        .routes(routes!(login::login))
        .routes(routes!(report::report))
        .route_layer(from_fn_with_state(own_origin, refuse_cross_origin));
    let routes = OpenApiRouter::with_openapi(document::preface(base_url))
        .merge(without_token)
        .routes(routes!(me::me, delete_account::delete_account))
        .routes(routes!(create_key::create_key, list_keys::list_keys))
        .routes(routes!(delete_key::delete_key))
        .routes(routes!(change_password::change_password))
        .routes(routes!(log_out_everywhere::log_out_everywhere))
        .routes(routes!(shorten::shorten))
        .routes(routes!(bulk::bulk))
        .routes(routes!(export::export))
        .routes(routes!(list_links::list))
        .routes(routes!(my_series::my_series))
        .routes(routes!(my_breakdown::my_breakdown))
        .routes(routes!(stats::stats))
        .routes(routes!(link_series::link_series))
        .routes(routes!(link_breakdown::link_breakdown))
        .routes(routes!(export_series::export_series))
        .routes(routes!(live::live))
        .routes(routes!(qr::qr))
        .routes(routes!(
            show_link::show,
            edit_link::edit,
            delete_link::delete
        ))
        .routes(routes!(admin::audit::audit))
        .routes(routes!(admin::search_links::search_links))
        .routes(routes!(
            admin::list_removals::list_removals,
            admin::remove::remove
        ))
        .routes(routes!(admin::revoke_removal::revoke_removal))
        .routes(routes!(admin::reports::reports))
        .routes(routes!(admin::close_report::close_report))
        .routes(routes!(admin::search_users::search_users))
        .route_layer(from_fn_with_state(admission.clone(), with_admission))
        .layer(Extension(BodyLimits {
            bytes: guards.max_body_bytes,
            timeout: guards.body_timeout,
        }))
        .routes(routes!(visit::visit, visit::preview))
        .routes(routes!(visit::visit_shared, visit::preview_shared))
        .routes(routes!(health::health))
        .routes(routes!(ready::ready))
        .routes(routes!(well_known::robots))
        .routes(routes!(well_known::security))
        .routes(routes!(document::document))
        .routes(routes!(explorer::docs))
        .routes(routes!(explorer::explorer))
        .routes(routes!(explorer::explorer_part));
    if public_metrics {
        routes.routes(routes!(prometheus::metrics))
    } else {
        routes
    }
}

/// Counts and times a request under its route's template.
async fn measured(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let method = method_label(request.method());
    let route = route.map_or_else(|| "none".to_owned(), |route| route.as_str().to_owned());
    routed(method, &route);
    let start = Instant::now();
    let response = next.run(request).await;
    let status = response.status().as_str().to_owned();
    let labels = [
        ("method", method.to_owned()),
        ("route", route.clone()),
        ("status", status),
    ];
    metrics::counter!(HTTP_REQUESTS, &labels).increment(1);
    metrics::histogram!(HTTP_DURATION, "route" => route).record(seconds_since(start));
    response
}

/// Exports the counter of every response in the document, and of the service's own failures, from the start. Otherwise a
/// route's first error would be no increase.
fn start_at_zero(document: &Document) {
    for (route, item) in &document.paths.paths {
        let methods = [
            (Method::GET, &item.get),
            (Method::POST, &item.post),
            (Method::PATCH, &item.patch),
            (Method::DELETE, &item.delete),
        ];
        for (method, operation) in methods {
            let Some(operation) = operation else { continue };
            let documented = operation.responses.responses.keys();
            for status in documented.map(String::as_str).chain(["500", "503"]) {
                let labels = [
                    ("method", method_label(&method).to_owned()),
                    ("route", route.clone()),
                    ("status", status.to_owned()),
                ];
                metrics::counter!(HTTP_REQUESTS, &labels).increment(0);
            }
        }
    }
}

/// Clients may send any word as a method: those that no route has share a label.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::*;
    use crate::http::paths::ROUTES;

    /// The templates that axum's router has, hidden from the document or not. Only its `Debug` names them.
    fn templates_of(router: &Router<ApiState>) -> BTreeSet<String> {
        let debug = format!("{router:?}");
        let own = debug.split("fallback_router").next().unwrap_or_default();
        let quoted = own
            .split("RouteId(")
            .filter_map(|id| id.split_once("): \""));
        quoted
            .filter_map(|(_, path)| Some(path.split_once('"')?.0.to_owned()))
            .collect()
    }

    #[tokio::test]
    async fn the_router_the_document_and_the_table_of_paths_have_the_same_routes() {
        let base_url = BaseUrl::parse("https://sho.rt").unwrap();
        let guards = Guards {
            max_connections: 1,
            max_connections_per_address: 1,
            min_read_bytes_per_second: 0,
            max_requests: 1,
            database_queue: Duration::ZERO,
            request_timeout: Duration::ZERO,
            header_timeout: Duration::ZERO,
            max_header_bytes: 1,
            body_timeout: Duration::ZERO,
            max_body_bytes: 1,
        };
        let routes = routes(&base_url, &guards, &Admission::new(&guards), true);
        let (served, document) = routes.split_for_parts();
        let table: BTreeSet<_> = ROUTES
            .iter()
            .map(|route| route.template.to_owned())
            .collect();
        assert_eq!(
            document
                .paths
                .paths
                .keys()
                .cloned()
                .collect::<BTreeSet<_>>(),
            table
        );
        assert_eq!(templates_of(&served), table);
        assert_eq!(table.len(), ROUTES.len(), "each route is in the table once");
    }
}
