//! The record of each request: a line in the log, at level debug, and a span of its trace.
//!
//! Neither contains queries, headers or bodies, because these carry secrets.

use std::time::Instant;

use axum::http::HeaderMap;
use opentelemetry::global::get_text_map_propagator;
use opentelemetry::trace::TraceContextExt;
use opentelemetry_http::HeaderExtractor;
use tracing::field::Empty;
use tracing::{Span, debug, debug_span, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt;

use super::seconds_since;

/// A request from its head to its response.
pub struct RequestSpan {
    span: Span,
    started: Instant,
}

impl RequestSpan {
    /// A request to the API. Every line that it logs has its ID. With the headers of a client that is trusted its trace
    /// continues that of their `traceparent`: a stranger would choose what is sampled, and add spans to traces of others.
    pub fn api(id: &str, method: &str, path: &str, trusted: Option<&HeaderMap>) -> Self {
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
        if let Some(headers) = trusted.filter(|headers| headers.contains_key("traceparent")) {
            let caller = get_text_map_propagator(|known| known.extract(&HeaderExtractor(headers)));
            // Without a collector there are no traces.
            let _ = span.set_parent(caller);
        }
        let started = Instant::now();
        Self { span, started }
    }

    /// A redirect or a refused request. There are too many of them for any level but debug; at other levels this is `None`
    /// and costs one comparison.
    pub fn at_debug<'a>(id: impl FnOnce() -> &'a str, method: &str, path: &str) -> Option<Self> {
        let span = debug_span!(
            "request",
            request_id = id(),
            http.request.method = method,
            url.path = path,
            http.response.status_code = Empty,
            otel.kind = "server",
            otel.status_code = Empty,
        );
        (!span.is_disabled()).then(|| Self {
            span,
            started: Instant::now(),
        })
    }

    /// The span for work that this request causes.
    #[must_use]
    pub fn span(&self) -> &Span {
        &self.span
    }

    /// Logs the response, and ends the span.
    pub fn answered(self, status: u16) {
        self.span.record("http.response.status_code", status);
        if status >= 500 {
            self.span.record("otel.status_code", "ERROR");
        }
        let seconds = seconds_since(self.started);
        debug!(parent: &self.span, status, seconds, "answered");
    }
}

/// Notes the route's template in the span of the current request.
pub fn routed(method: &str, route: &str) {
    let span = Span::current();
    span.record("http.route", route);
    // The exporter ignores a name that is recorded after the span was first entered.
    span.context()
        .span()
        .update_name(format!("{method} {route}"));
}
