//! `GET /metrics`: metrics in the text format of Prometheus.

use axum::extract::State;

use crate::telemetry::exposition::Exposition;

/// Metrics, for Prometheus.
///
/// Missing here if the service serves them at a separate address.
#[utoipa::path(
    get, path = "/metrics", tag = "operations", operation_id = "metrics",
    responses((status = 200, description = "Prometheus' text format", body = String, content_type = "text/plain",
        example = "shunt_http_requests_total{method=\"GET\",route=\"/health\",status=\"200\"} 1\n")),
)]
pub(super) async fn metrics(State(metrics): State<Exposition>) -> String {
    metrics.render()
}
