//! What is said of each request: one line in the log, at debug, and a span of its trace.
//!
//! Neither names a query, a header or a body: secrets travel there.

use std::time::Instant;

use axum::http::HeaderMap;
use opentelemetry::global::get_text_map_propagator;
use opentelemetry::trace::TraceContextExt;
use opentelemetry_http::HeaderExtractor;
use tracing::field::Empty;
use tracing::{Span, debug, debug_span, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt;

use super::seconds_since;

/// A request from its head to its answer.
pub struct RequestSpan {
    span: Span,
    begun: Instant,
}

impl RequestSpan {
    /// A request of the API. What it has logged names its id, at every level; its trace goes on where the
    /// caller's `traceparent` left off.
    pub fn api(id: &str, method: &str, path: &str, headers: &HeaderMap) -> Self {
        let span = info_span!(
            "request",
            request_id = id,
            http.request.method = method,
            url.path = path,
            http.route = Empty,
            http.response.status_code = Empty,
            otel.kind = "server",
            otel.status_code = Empty,
        );
        if headers.contains_key("traceparent") {
            let caller = get_text_map_propagator(|known| known.extract(&HeaderExtractor(headers)));
            // Without a collector there is no trace to belong to.
            let _ = span.set_parent(caller);
        }
        let begun = Instant::now();
        Self { span, begun }
    }

    /// A redirect, or what is turned away: too many for anything but debug; above it `None` costs one look at
    /// the level.
    pub fn at_debug(id: &str, method: &str, path: &str) -> Option<Self> {
        let span = debug_span!(
            "request",
            request_id = id,
            http.request.method = method,
            url.path = path,
            http.response.status_code = Empty,
            otel.kind = "server",
            otel.status_code = Empty,
        );
        (!span.is_disabled()).then(|| Self {
            span,
            begun: Instant::now(),
        })
    }

    /// For what is done on behalf of this request.
    #[must_use]
    pub fn span(&self) -> &Span {
        &self.span
    }

    /// Logs the answer, and ends the span.
    pub fn answered(self, status: u16) {
        self.span.record("http.response.status_code", status);
        if status >= 500 {
            self.span.record("otel.status_code", "ERROR");
        }
        let seconds = seconds_since(self.begun);
        debug!(parent: &self.span, status, seconds, "answered");
    }
}

/// The route's template, for the span of the request that is being worked on.
pub fn routed(method: &str, route: &str) {
    let span = Span::current();
    span.record("http.route", route);
    // A name that is recorded later is not taken over: the span began when it was first entered.
    span.context()
        .span()
        .update_name(format!("{method} {route}"));
}
