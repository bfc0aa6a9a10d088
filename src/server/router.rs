//! The routes, one a line.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{FromRef, MatchedPath, Request};
use axum::http::Method;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::{delete, get, post};
use axum::{Extension, Router};
use metrics_exporter_prometheus::PrometheusHandle;
use tower_http::catch_panic::CatchPanicLayer;

use super::assembly::Assembly;
use super::lifecycle::Stop;
use super::{docs, health};
use crate::accounts::{self, Accounts};
use crate::http::{self, TrustedProxies};
use crate::links::{self, LinksApi};
use crate::redirect::{self, Redirect};
use crate::shared::SharedRedis;
use crate::store::Links;
use crate::telemetry::metrics::{HTTP_DURATION, HTTP_REQUESTS};
use crate::telemetry::seconds_since;

/// What handlers work with; each takes the part it needs.
#[derive(Clone, FromRef)]
pub(super) struct ApiState {
    accounts: Accounts,
    links: LinksApi,
    redirect: Redirect,
    readiness: Readiness,
}

/// What readiness depends on.
#[derive(Clone)]
pub(super) struct Readiness {
    pub(super) links: Arc<dyn Links>,
    pub(super) redis: Option<SharedRedis>,
    pub(super) stop: Stop,
}

impl ApiState {
    pub(super) fn new(assembly: &Assembly, redirect: Redirect, stop: Stop) -> Self {
        Self {
            accounts: assembly.accounts.clone(),
            links: assembly.links.clone(),
            redirect,
            readiness: Readiness {
                links: Arc::clone(&assembly.store.links),
                redis: assembly.redis.clone(),
                stop,
            },
        }
    }
}

/// All routes; `/metrics` only where `metrics` are given.
pub(super) fn router(
    state: ApiState,
    proxies: TrustedProxies,
    metrics: Option<PrometheusHandle>,
) -> Router {
    let router = Router::new()
        .route("/auth/register", post(accounts::register::register))
        .route("/auth/login", post(accounts::login::login))
        .route("/auth/me", get(accounts::me::me))
        .route("/urls/shorten", post(links::shorten::shorten))
        .route("/urls/my", get(links::list::list))
        .route("/urls/{short_code}", delete(links::delete::delete))
        .route("/urls/{short_code}/stats", get(links::stats::stats))
        .route("/urls/r/{short_code}", get(redirect::visit))
        .route("/{short_code}", get(redirect::visit))
        .route("/health", get(health::health))
        .route("/ready", get(health::ready))
        .merge(docs::router());
    let router = match metrics {
        Some(metrics) => router.route("/metrics", get(async move || metrics.render())),
        None => router,
    };
    router
        .fallback(http::not_found)
        .method_not_allowed_fallback(http::method_not_allowed)
        .layer(from_fn(measured))
        .layer(Extension(proxies))
        .layer(CatchPanicLayer::custom(http::panicked))
        .with_state(state)
}

/// Counts and times a request under its route's template.
async fn measured(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let method = method_label(request.method());
    let begun = Instant::now();
    let response = next.run(request).await;
    let route = route.map_or_else(|| "none".to_owned(), |route| route.as_str().to_owned());
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
