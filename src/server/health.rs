//! Whether the process lives, and whether it should get traffic.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use tokio::time::timeout;
use utoipa::ToSchema;

use super::router::Readiness;
use crate::shared::Call;

/// How long a dependency may take to answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// The process lives.
#[derive(Serialize, ToSchema)]
pub(super) struct Health {
    /// Always `ok`.
    #[schema(example = "ok")]
    status: &'static str,
}

/// Says that the process lives, and nothing else.
#[utoipa::path(
    get, path = "/health", tag = "operations",
    responses((status = 200, description = "The process lives", body = Health)),
)]
pub(super) async fn health() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// State of a dependency.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum DependencyState {
    /// It answers.
    Up,
    /// It does not.
    Away,
    /// The service runs without it.
    Off,
}

/// Whether this instance should get traffic.
#[derive(Serialize, ToSchema)]
pub(super) struct Ready {
    /// `ready`, `stopping` or `unavailable`.
    #[schema(example = "ready")]
    status: &'static str,
    /// Source of truth.
    database: DependencyState,
    /// Shared cache and click counters.
    redis: DependencyState,
}

/// Says whether this instance should get traffic, with the state of each dependency.
///
/// Redirects need only one of database and Redis; without both there is nothing to serve.
#[utoipa::path(
    get, path = "/ready", tag = "operations",
    responses(
        (status = 200, description = "This instance takes traffic", body = Ready),
        (status = 503, description = "It is stopping, or can reach neither database nor Redis", body = Ready),
    ),
)]
pub(super) async fn ready(State(readiness): State<Readiness>) -> (StatusCode, Json<Ready>) {
    let (database, redis) = tokio::join!(database(&readiness), redis(&readiness));
    let status = match (database, redis) {
        _ if readiness.stop.is_asked() => "stopping",
        (DependencyState::Up, _) | (_, DependencyState::Up) => "ready",
        _ => "unavailable",
    };
    let code = match status {
        "ready" => StatusCode::OK,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    };
    (
        code,
        Json(Ready {
            status,
            database,
            redis,
        }),
    )
}

async fn database(readiness: &Readiness) -> DependencyState {
    match timeout(PATIENCE, readiness.links.ping()).await {
        Ok(Ok(())) => DependencyState::Up,
        Ok(Err(_)) | Err(_) => DependencyState::Away,
    }
}

async fn redis(readiness: &Readiness) -> DependencyState {
    let Some(redis) = &readiness.redis else {
        return DependencyState::Off;
    };
    let answer: Result<String, _> = redis
        .query(&Call::plain(redis::cmd("PING")), PATIENCE)
        .await;
    match answer {
        Ok(_) if redis.is_up() => DependencyState::Up,
        Ok(_) | Err(_) => DependencyState::Away,
    }
}
