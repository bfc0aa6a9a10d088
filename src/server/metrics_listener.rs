//! Metrics on an address of their own.

use std::net::TcpListener;
use std::time::Duration;

use axum::Router;
use axum::middleware::map_response;
use axum::routing::get;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tower::ServiceExt;

use super::lifecycle::{LAST_CALL, Shutdown};
use super::listener::asynchronous;
use crate::http;
use crate::telemetry::metrics::Exposition;

/// Connections at once; further ones wait until one ends.
const MOST: usize = 64;

/// How long a connection may take for a request, idling included.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Pause after the system had no file handle left for a connection.
const BREATH: Duration = Duration::from_millis(50);

/// Serves /metrics alone, until asked to stop.
pub(super) async fn serve(listener: TcpListener, metrics: Exposition, stop: Shutdown) {
    let router = Router::new()
        .route("/metrics", get(async move || metrics.render()))
        .fallback(http::not_found)
        .method_not_allowed_fallback(http::method_not_allowed)
        .layer(map_response(http::with_security_headers));
    let listener = match asynchronous(listener) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(%error, "metrics are not served");
            return;
        }
    };
    let mut scrapers = JoinSet::new();
    let scraped = async {
        loop {
            while scrapers.len() >= MOST {
                scrapers.join_next().await;
            }
            match listener.accept().await {
                Ok((stream, _)) => {
                    scrapers.spawn(scrape(stream, router.clone(), stop.clone()));
                }
                Err(error) => {
                    tracing::debug!(%error, "a connection for metrics could not be taken");
                    sleep(BREATH).await;
                }
            }
        }
    };
    tokio::select! {
        () = scraped => {}
        () = stop.asked() => {}
    }
    // Who has not asked to the end by then holds up no stop.
    let _ = timeout(LAST_CALL, async {
        while scrapers.join_next().await.is_some() {}
    })
    .await;
}

/// Answers one scraper, whose connection may idle for a while.
async fn scrape(stream: TcpStream, router: Router, stop: Shutdown) {
    let service = service_fn(move |request: Request<Incoming>| router.clone().oneshot(request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let served = tokio::select! {
        served = &mut connection => served,
        () = stop.asked() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a connection for metrics ended early");
    }
}
