//! The routes, one a line.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{FromRef, MatchedPath, Request};
use axum::http::Method;
use axum::middleware::{Next, from_fn, from_fn_with_state, map_response};
use axum::response::Response;
use axum::{Extension, Router};
use tower_http::catch_panic::CatchPanicLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::assembly::Assembly;
use super::lifecycle::Stop;
use super::overload::{Overload, held};
use super::{docs, health};
use crate::accounts::{self, Accounts};
use crate::config::{BaseUrl, Guards};
use crate::http::{self, BodyLimits, TrustedProxies};
use crate::links::{self, LinksApi};
use crate::redirect::{Redirect, visit};
use crate::shared::Shards;
use crate::store::{Links, PostgresReplica};
use crate::telemetry::metrics::{Exposition, HTTP_DURATION, HTTP_REQUESTS};
use crate::telemetry::requests::routed;
use crate::telemetry::seconds_since;

/// What handlers work with; each takes the part it needs. The router copies it several times per request.
#[derive(Clone, FromRef)]
pub(super) struct ApiState {
    accounts: Arc<Accounts>,
    links: Arc<LinksApi>,
    redirect: Arc<Redirect>,
    readiness: Arc<Readiness>,
    metrics: Exposition,
}

/// What readiness depends on.
pub(super) struct Readiness {
    pub(super) links: Arc<dyn Links>,
    pub(super) replica: Option<Arc<PostgresReplica>>,
    pub(super) redis: Option<Shards>,
    pub(super) stop: Stop,
    pub(super) lately: health::Lately,
}

impl ApiState {
    pub(super) fn new(
        assembly: &Assembly,
        redirect: Redirect,
        metrics: Exposition,
        stop: Stop,
    ) -> Self {
        Self {
            accounts: Arc::clone(&assembly.accounts),
            links: Arc::clone(&assembly.links),
            redirect: Arc::new(redirect),
            readiness: Arc::new(Readiness {
                links: Arc::clone(&assembly.store.links),
                replica: assembly.replica.clone(),
                redis: assembly.redis.clone(),
                stop,
                lately: health::Lately::default(),
            }),
            metrics,
        }
    }
}

/// All routes, and the document that tells of each: a handler says itself where it is found.
/// `/metrics` is only there where it is `public`.
pub(super) fn router(
    state: ApiState,
    proxies: TrustedProxies,
    base_url: &BaseUrl,
    guards: &Guards,
    overload: &Overload,
    public_metrics: bool,
) -> Router {
    let mut routes = OpenApiRouter::with_openapi(docs::preface(base_url))
        .routes(routes!(accounts::register::register))
        .routes(routes!(accounts::login::login))
        .routes(routes!(accounts::me::me))
        .routes(routes!(links::shorten::shorten))
        .routes(routes!(links::list::list))
        .routes(routes!(links::stats::stats))
        .routes(routes!(links::delete::delete))
        .route_layer(from_fn_with_state(overload.clone(), held))
        .layer(Extension(BodyLimits {
            bytes: guards.max_body_bytes,
            patience: guards.body_timeout,
        }))
        .routes(routes!(visit::visit, visit::preview))
        .routes(routes!(visit::visit_shared, visit::preview_shared))
        .routes(routes!(health::health))
        .routes(routes!(health::ready))
        .routes(routes!(docs::document))
        .routes(routes!(docs::docs))
        .routes(routes!(docs::explorer))
        .routes(routes!(docs::explorer_part));
    if public_metrics {
        routes = routes.routes(routes!(health::metrics));
    }
    let (served, document) = routes.split_for_parts();
    served
        .fallback(http::not_found)
        .method_not_allowed_fallback(http::method_not_allowed)
        .layer(from_fn(measured))
        .layer(map_response(http::with_security_headers))
        .layer(Extension(docs::Written::new(&document)))
        .layer(Extension(proxies))
        .layer(CatchPanicLayer::custom(http::panicked))
        .with_state(state)
}

/// Counts and times a request under its route's template.
async fn measured(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let method = method_label(request.method());
    let route = route.map_or_else(|| "none".to_owned(), |route| route.as_str().to_owned());
    routed(method, &route);
    let begun = Instant::now();
    let response = next.run(request).await;
    let status = response.status().as_str().to_owned();
    let labels = [
        ("method", method.to_owned()),
        ("route", route.clone()),
        ("status", status),
    ];
    metrics::counter!(HTTP_REQUESTS, &labels).increment(1);
    metrics::histogram!(HTTP_DURATION, "route" => route).record(seconds_since(begun));
    response
}

/// Clients may send any word as a method: those nobody serves share a label.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}
