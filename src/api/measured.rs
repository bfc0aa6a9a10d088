//! Requests in the metrics: counted and timed by their routes.

use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;

use super::document::DocumentJson;
use crate::telemetry::metrics::{HTTP_DURATION, HTTP_REQUESTS};
use crate::telemetry::requests::routed;
use crate::telemetry::seconds_since;

/// Counts and times a request under its route's template.
pub(super) async fn measured(request: Request, next: Next) -> Response {
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
pub(super) fn start_at_zero(document: &DocumentJson) {
    for (route, method, documented) in document.operations() {
        // The counter of HEAD requests of redirects is exported from the first such request on.
        if method == "HEAD" {
            continue;
        }
        let documented = documented.iter().map(String::as_str);
        for status in documented.chain(["500", "503"]) {
            let labels = [
                ("method", method.clone()),
                ("route", route.clone()),
                ("status", status.to_owned()),
            ];
            metrics::counter!(HTTP_REQUESTS, &labels).increment(0);
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
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}
