//! `GET /health`: whether the process lives.

use serde::Serialize;
use utoipa::ToSchema;

use crate::http::Json;

/// The process lives.
#[derive(Serialize, ToSchema)]
pub(super) struct Health {
    /// Always `ok`.
    status: HealthStatus,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum HealthStatus {
    Ok,
}

/// Does the process live?
///
/// The response depends on no other service: it is for probes that restart a process that hangs.
#[utoipa::path(
    get, path = "/health", tag = "operations", operation_id = "health",
    responses((status = 200, description = "It does", body = Health)),
)]
pub(super) async fn health() -> Json<Health> {
    Json(Health {
        status: HealthStatus::Ok,
    })
}
