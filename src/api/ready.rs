//! `GET /ready`: whether this instance should get traffic.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::StatusCode;
use futures_util::future::join_all;
use serde::Serialize;
use tokio::sync::Mutex;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;

use crate::http::Json;
use crate::shared_redis::RedisShards;
use crate::store::{PostgresReplica, Store};

/// How long the states of the dependencies are cached.
const CACHED_FOR: Duration = Duration::from_millis(250);

/// When the dependencies were asked last, and their states then.
type ReadinessCache = Mutex<Option<(Instant, Dependencies)>>;

/// The dependencies of readiness.
pub struct Readiness {
    store: Store,
    replica: Option<Arc<PostgresReplica>>,
    redis: Option<RedisShards>,
    stopping: CancellationToken,
    cache: ReadinessCache,
}

impl Readiness {
    /// Ready until `stopping` is cancelled.
    #[must_use]
    pub fn new(
        store: Store,
        replica: Option<Arc<PostgresReplica>>,
        redis: Option<RedisShards>,
        stopping: CancellationToken,
    ) -> Self {
        Self {
            store,
            replica,
            redis,
            stopping,
            cache: ReadinessCache::default(),
        }
    }
}

/// The dependencies' states.
#[derive(Clone, Copy)]
struct Dependencies {
    database: DependencyState,
    redis: DependencyState,
}

/// How long a dependency may take to answer.
const TIMEOUT: Duration = Duration::from_secs(1);

/// State of a dependency.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum DependencyState {
    /// It answers.
    Up,
    /// It does not; of a cluster, a part of it does not.
    Away,
    /// The service runs without it.
    Off,
}

/// Whether an instance should get traffic.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Traffic {
    /// It takes traffic.
    Ready,
    /// It is shutting down.
    Stopping,
}

/// Whether this instance should get traffic, and the states of its dependencies.
#[derive(Serialize, ToSchema)]
pub(super) struct Ready {
    /// In one word.
    status: Traffic,
    /// Source of truth.
    database: DependencyState,
    /// Its replica, for look-ups of redirects; without it the database serves all of them.
    replica: DependencyState,
    /// Shared cache and click counters.
    redis: DependencyState,
}

/// Should this instance get traffic?
///
/// Yes, until it stops. A dependency that is away does not change that: every instance still redirects the links in its
/// memory, and if no instance got traffic, no client would be redirected. The states are for people.
#[utoipa::path(
    get, path = "/ready", tag = "operations", operation_id = "ready",
    responses(
        (status = 200, description = "It should", body = Ready,
            example = json!({"status": "ready", "database": "up", "replica": "off", "redis": "off"})),
        (status = 503, description = "It is stopping", body = Ready,
            example = json!({"status": "stopping", "database": "up", "replica": "off", "redis": "up"})),
    ),
)]
pub(super) async fn ready(State(readiness): State<Arc<Readiness>>) -> (StatusCode, Json<Ready>) {
    let Dependencies { database, redis } = cached_dependencies(&readiness).await;
    let (code, status) = if readiness.stopping.is_cancelled() {
        (StatusCode::SERVICE_UNAVAILABLE, Traffic::Stopping)
    } else {
        (StatusCode::OK, Traffic::Ready)
    };
    let replica = replica(&readiness);
    let body = Ready {
        status,
        database,
        replica,
        redis,
    };
    (code, Json(body))
}

/// The cached states, or the present ones where those are too old. Each dependency is asked once at a time, however many
/// requests wait for its state.
async fn cached_dependencies(readiness: &Readiness) -> Dependencies {
    let mut cached = readiness.cache.lock().await;
    match *cached {
        Some((at, dependencies)) if at.elapsed() < CACHED_FOR => dependencies,
        _ => {
            let (database, redis) = tokio::join!(database(readiness), redis(readiness));
            let dependencies = Dependencies { database, redis };
            *cached = Some((Instant::now(), dependencies));
            dependencies
        }
    }
}

async fn database(readiness: &Readiness) -> DependencyState {
    match timeout(TIMEOUT, readiness.store.ping()).await {
        Ok(Ok(())) => DependencyState::Up,
        Ok(Err(_)) | Err(_) => DependencyState::Away,
    }
}

/// As it was seen last: readiness does not depend on the replica.
fn replica(readiness: &Readiness) -> DependencyState {
    match &readiness.replica {
        None => DependencyState::Off,
        Some(replica) if replica.is_up() => DependencyState::Up,
        Some(_) => DependencyState::Away,
    }
}

/// The state of Redis as a whole: up if every shard answers.
async fn redis(readiness: &Readiness) -> DependencyState {
    let Some(shards) = &readiness.redis else {
        return DependencyState::Off;
    };
    let pings = shards
        .iter()
        .map(async |redis| redis.is_up() && redis.ping(TIMEOUT).await.is_ok());
    if join_all(pings).await.contains(&false) {
        DependencyState::Away
    } else {
        DependencyState::Up
    }
}
