//! Metrics on an address of their own.

use std::time::Duration;

use axum::Router;
use axum::middleware::map_response;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::time::sleep;

use crate::http::{self, paths};
use crate::server::bounded_listener::BoundedListener;
use crate::server::shutdown::{GRACE_PERIOD, Shutdown};
use crate::telemetry::exposition::Exposition;

/// Connections at the same time; more connections wait in the backlog of the system.
const MAX_CONNECTIONS: usize = 64;

/// How long a connection may go without a byte written to it.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Serves only /metrics, until the service drains.
pub(super) async fn serve(listener: TcpListener, metrics: Exposition, shutdown: Shutdown) {
    let router = Router::new()
        .route(paths::METRICS, get(async move || metrics.render()))
        .fallback(http::not_found)
        .method_not_allowed_fallback(http::method_not_allowed)
        .layer(map_response(http::with_security_headers));
    let listener = BoundedListener::new(listener, MAX_CONNECTIONS, IDLE_TIMEOUT);
    let draining = shutdown.draining_token().cancelled_owned();
    let serving = axum::serve(listener, router).with_graceful_shutdown(draining);
    let end_of_grace_period = async {
        shutdown.draining().await;
        sleep(GRACE_PERIOD).await;
    };
    tokio::select! {
        // Ends when every connection is closed, and with no error.
        _ = serving => {}
        // A slow scraper does not delay the shutdown: its connection ends with the process.
        () = end_of_grace_period => {}
    }
}
