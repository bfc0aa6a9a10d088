//! Waiting for dependencies at start: tried again with growing pauses for a while, saying so.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::time::{Instant, sleep, timeout};

use crate::cache::LinkCache;
use crate::clicks::{RecoveryError, recover};
use crate::config::{Config, Database};
use crate::domain::{Clock, SystemClock};
use crate::links::{OutboxError, publish_pending};
use crate::redis::{FindMasterError, RedisShard, RedisShards};
use crate::store::{OpenError, PostgresReplica, PostgresStore, SqliteStore, Store, StoreSettings};

/// How long the database may be missing at start.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(30);

/// The same of Redis, without which the service does what it can.
const REDIS_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a Redis that is back waits for a database that may hang.
const PING_TIMEOUT: Duration = Duration::from_millis(500);

/// How long a database operation may take, waiting for a connection included.
const DATABASE_DEADLINE: Duration = Duration::from_secs(5);

/// First and longest pause between two tries.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(4);

/// A dependency that is not there.
#[derive(Debug, thiserror::Error)]
#[error("{dependency}: {why}")]
pub struct ConnectError {
    dependency: &'static str,
    why: String,
}

/// Why one try failed.
pub(super) enum Failure {
    /// It may be there soon.
    NotYet(String),
    /// It never will with these settings.
    Wrong(String),
}

/// The database, and its replica where there is one: that one is found later, by whoever looks after it.
pub(super) struct Databases {
    pub(super) store: Store,
    pub(super) replica: Option<Arc<PostgresReplica>>,
}

/// Connects to the database and brings its schema up to date.
pub(super) async fn databases(
    config: &Config,
    clock: &Arc<dyn Clock>,
) -> Result<Databases, ConnectError> {
    let settings = StoreSettings {
        max_connections: config.database_max_connections,
        deadline: DATABASE_DEADLINE,
    };
    let connected = patiently("DATABASE_URL", DATABASE_TIMEOUT, async || {
        match &config.database {
            Database::Sqlite(path) => {
                let store = Arc::new(SqliteStore::open(path, settings, Arc::clone(clock)).await?);
                Ok(Databases {
                    store: Store::of(store),
                    replica: None,
                })
            }
            Database::Postgres(url) => {
                let store = Arc::new(PostgresStore::connect(url, settings).await?);
                let replica = config.database_replica.as_ref().map(|url| {
                    let (primary, connections) = (Arc::clone(&store), settings.max_connections);
                    Arc::new(PostgresReplica::new(primary, url.clone(), connections))
                });
                Ok(Databases {
                    store: Store::of(store),
                    replica,
                })
            }
        }
    });
    connected.await.map_err(|failure| {
        let (Failure::Wrong(why) | Failure::NotYet(why)) = failure;
        ConnectError {
            dependency: "DATABASE_URL",
            why,
        }
    })
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::NotYet(why) => Self::NotYet(why),
            OpenError::Wrong(why) => Self::Wrong(why),
        }
    }
}

/// Brings the schema of the database up to date, and nothing else.
///
/// # Errors
/// When the database is not there or refuses.
pub async fn migrate(config: &Config) -> Result<(), ConnectError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let database = databases(config, &clock).await?.store.database;
    database.close().await.map_err(|error| ConnectError {
        dependency: "DATABASE_URL",
        why: error.to_string(),
    })
}

/// Waits for Redis, lets it in, and learns where link changes stand; says what about its settings risks clicks.
/// One that does not come is away, as one that goes later: whoever looks for it then finds it.
pub(super) async fn redis(
    shards: &RedisShards,
    store: &Store,
    cache: &LinkCache,
) -> Result<(), ConnectError> {
    try_join_all(shards.iter().map(|redis| shard(redis, store, cache))).await?;
    // Shards of one server give the same answer.
    let mut warned = HashSet::new();
    let there = shards.iter().filter(|redis| redis.is_up());
    for redis in there.filter(|redis| warned.insert(redis.replication_id())) {
        warn_of_settings(redis).await;
    }
    Ok(())
}

async fn shard(redis: &RedisShard, store: &Store, cache: &LinkCache) -> Result<(), ConnectError> {
    let admitted = patiently("REDIS_URL", REDIS_TIMEOUT, async || {
        take_into_use(redis, store, cache)
            .await
            .map_err(|error| match error {
                ConnectRedisError::RecoveryError(RecoveryError::FindMasterError(
                    FindMasterError::Wrong(why),
                )) => Failure::Wrong(why),
                ConnectRedisError::RecoveryError(foreign @ RecoveryError::Foreign(_)) => {
                    Failure::Wrong(foreign.to_string())
                }
                not_yet => Failure::NotYet(not_yet.to_string()),
            })?;
        cache
            .synchronise(redis.shard())
            .await
            .map_err(|error| Failure::NotYet(error.to_string()))
    });
    match admitted.await {
        Ok(()) => {}
        Err(Failure::NotYet(why)) => {
            tracing::warn!("REDIS_URL: {why}; clicks go to the database until it is there");
        }
        Err(Failure::Wrong(why)) => {
            return Err(ConnectError {
                dependency: "REDIS_URL",
                why,
            });
        }
    }
    Ok(())
}

/// Why Redis is not used yet.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectRedisError {
    #[error(transparent)]
    RecoveryError(#[from] RecoveryError),
    #[error("changes could not be told: {0}")]
    Untold(OutboxError),
}

/// Has Redis used by everybody from here on, if it may be. It may hold links that were deleted while it was away:
/// it is told first.
pub(super) async fn take_into_use(
    redis: &RedisShard,
    store: &Store,
    cache: &LinkCache,
) -> Result<(), ConnectRedisError> {
    recover(redis, &*store.clicks, store.database.installation()).await?;
    // Without the database nobody can tell what changed: clicks matter more, it is told later.
    if let Ok(Ok(())) = timeout(PING_TIMEOUT, store.database.ping()).await {
        let is_this = |shard| shard == redis.shard();
        match publish_pending(&*store.outbox, cache, is_this).await {
            Ok(()) | Err(OutboxError::Store(_)) => {}
            Err(error) => return Err(ConnectRedisError::Untold(error)),
        }
    }
    redis.recovered();
    Ok(())
}

/// Redis may forbid to be asked; then there is nothing to say.
async fn warn_of_settings(redis: &RedisShard) {
    let setting = async |name: &str| {
        let found = redis.server_setting(name, Duration::from_secs(2)).await;
        found.ok().flatten()
    };
    if setting("appendonly")
        .await
        .is_some_and(|value| value != "yes")
    {
        tracing::warn!(
            "Redis runs without AOF (appendonly no): a crash of Redis loses pending clicks"
        );
    }
    let evicts = setting("maxmemory").await.is_some_and(|value| value != "0");
    let policy = setting("maxmemory-policy").await.unwrap_or_default();
    if evicts && !policy.starts_with("volatile-") && policy != "noeviction" {
        tracing::warn!(%policy, "Redis may evict pending clicks: set maxmemory-policy to volatile-lru");
    }
}

async fn patiently<T>(
    dependency: &'static str,
    patience: Duration,
    attempt: impl AsyncFn() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let deadline = Instant::now() + patience;
    let mut pause = FIRST_PAUSE;
    loop {
        let why = match attempt().await {
            Ok(value) => return Ok(value),
            Err(wrong @ Failure::Wrong(_)) => return Err(wrong),
            // Parsers say it on several lines.
            Err(Failure::NotYet(why)) => why.lines().collect::<Vec<_>>().join("; "),
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let waited = patience.as_secs();
            return Err(Failure::NotYet(format!(
                "still not there after {waited} s: {why}"
            )));
        }
        tracing::warn!(
            "{dependency}: {why}; trying again for another {} s",
            left.as_secs()
        );
        sleep(pause.min(left)).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
