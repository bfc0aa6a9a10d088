//! Connecting to the database and to Redis at the start: failed attempts are repeated for a while, with growing
//! pauses and a line in the log.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::time::{Instant, sleep};

use crate::abuse::Abuse;
use crate::cache::LinkCache;
use crate::clicks::{DrainError, RecoveryError};
use crate::config::{Config, DatabaseUrl};
use crate::domain::{Clock, CurrentBlocklist, CurrentHosts, Hosts, SystemClock};
use crate::limits::Searches;
use crate::server::redis_recovery::{RecoverShardError, RedisRecovery};
use crate::shared_redis::{FindMasterError, RedisShard, RedisShards};
use crate::store::migrations::{self, Report, Schema};
use crate::store::{
    OpenError, PostgresReplica, PostgresStore, SqliteStore, Store, StoreError, StoreSettings,
};

/// How long the start waits for the database.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(30);

/// How long the start waits for Redis; the service also runs without it.
pub(super) const REDIS_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a database operation may take, waiting for a connection included.
const DATABASE_DEADLINE: Duration = Duration::from_secs(5);

/// First and longest pause between two attempts.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const MAX_PAUSE: Duration = Duration::from_secs(4);

/// How long Redis may take to say one of its settings.
const SETTING_TIMEOUT: Duration = Duration::from_secs(2);

/// A dependency that is not there.
#[derive(Debug, thiserror::Error)]
#[error("{dependency}: {reason}")]
pub struct ConnectError {
    pub(super) dependency: &'static str,
    pub(super) reason: String,
}

/// Why one attempt failed.
pub(super) enum AttemptError {
    /// A later attempt may succeed.
    Transient(String),
    /// No attempt can succeed with these settings.
    Permanent(String),
}

/// The database, and its replica if the settings name a replica. A background job connects the replica later.
pub(super) struct Databases {
    pub(super) store: Store,
    pub(super) replica: Option<Arc<PostgresReplica>>,
}

/// Connects to the database, and brings its schema up to date unless that is left to `shunt migrate`.
pub(super) async fn databases(
    config: &Config,
    clock: &Arc<dyn Clock>,
) -> Result<Databases, ConnectError> {
    let schema = if config.no_migrate {
        Schema::Require
    } else {
        Schema::Migrate(migrations::log)
    };
    with_schema(schema, false, config, clock).await
}

/// The databases of the settings; `is_beside`: beside the service that has the file.
async fn with_schema(
    schema: Schema,
    is_beside: bool,
    config: &Config,
    clock: &Arc<dyn Clock>,
) -> Result<Databases, ConnectError> {
    let settings = StoreSettings {
        max_connections: config.database_max_connections,
        deadline: DATABASE_DEADLINE,
        schema,
    };
    let connected = retry(
        "DATABASE_URL",
        Instant::now(),
        DATABASE_TIMEOUT,
        async || match &config.database {
            DatabaseUrl::Sqlite(path) => {
                if config.database.is_default() {
                    SqliteStore::make_folder(path)?;
                }
                let clock = Arc::clone(clock);
                let store = if is_beside {
                    SqliteStore::open_beside(path, settings, clock).await?
                } else {
                    SqliteStore::open(path, settings, clock).await?
                };
                let store = Arc::new(store);
                Ok(Databases {
                    store: Store::of(store),
                    replica: None,
                })
            }
            DatabaseUrl::Postgres(url) => {
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
        },
    );
    connected.await.map_err(no_database)
}

/// Asks the database what the start needs to know. It may go away again just after it was connected.
///
/// # Errors
/// When it does not answer for a while.
pub(super) async fn ask_database<T>(
    question: impl AsyncFn() -> Result<T, StoreError>,
) -> Result<T, ConnectError> {
    let attempt = async || Ok(question().await?);
    let answered = retry("DATABASE_URL", Instant::now(), DATABASE_TIMEOUT, attempt).await;
    answered.map_err(no_database)
}

fn no_database(error: AttemptError) -> ConnectError {
    let (AttemptError::Permanent(reason) | AttemptError::Transient(reason)) = error;
    ConnectError {
        dependency: "DATABASE_URL",
        reason,
    }
}

impl From<StoreError> for AttemptError {
    fn from(error: StoreError) -> Self {
        Self::Transient(error.to_string())
    }
}

impl From<OpenError> for AttemptError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::NotYet(reason) => Self::Transient(reason),
            OpenError::Wrong(reason) => Self::Permanent(reason),
        }
    }
}

/// Brings the schema of the database up to date, and reports each step.
///
/// # Errors
/// When the database is not there or refuses.
pub async fn migrate(config: &Config, report: Report) -> Result<(), ConnectError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let opened = with_schema(Schema::Migrate(report), false, config, &clock);
    let store = opened.await?.store;
    store.close().await.map_err(|error| ConnectError {
        dependency: "DATABASE_URL",
        reason: error.to_string(),
    })
}

/// Opens the database for administration by the operator, beside a service that runs. Its schema must be that of this version.
///
/// # Errors
/// When the database is not there or refuses.
pub async fn administration(config: &Config) -> Result<Abuse, ConnectError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let opened = with_schema(Schema::Require, true, config, &clock).await?;
    let (searches, blocklist) = (Searches::default(), CurrentBlocklist::default());
    let hosts = CurrentHosts::default();
    let served = opened.store.served_hosts().await;
    let served = served.map_err(|error| no_database(error.into()))?;
    hosts.set(Hosts::new(served));
    Ok(Abuse::new(opened.store, searches, blocklist, hosts, clock))
}

/// Waits for every shard of Redis, for a while from `started` on, takes it into use, and warns of settings of Redis that put clicks at risk. A shard
/// that does not come in time is treated like one that is lost later: a background job probes it until it is back.
pub(super) async fn redis(
    shards: &RedisShards,
    store: &Store,
    cache: &LinkCache,
    started: Instant,
) -> Result<(), ConnectError> {
    let recovery = RedisRecovery::new(store, cache);
    try_join_all(
        shards
            .iter()
            .map(|redis| shard(redis, &recovery, cache, started)),
    )
    .await?;
    // Shards on the same server have the same settings.
    let mut warned = HashSet::new();
    let up = shards.iter().filter(|redis| redis.is_up());
    for redis in up.filter(|redis| warned.insert(redis.replication_id())) {
        warn_of_settings(redis).await;
    }
    Ok(())
}

async fn shard(
    redis: &RedisShard,
    recovery: &RedisRecovery,
    cache: &LinkCache,
    started: Instant,
) -> Result<(), ConnectError> {
    let recovered = retry("REDIS_URL", started, REDIS_TIMEOUT, async || {
        recovery.recover(redis).await?;
        let synchronised = cache.synchronise(redis.shard()).await;
        synchronised
            .map(drop)
            .map_err(|error| AttemptError::Transient(error.to_string()))
    });
    match recovered.await {
        Ok(()) => Ok(()),
        Err(AttemptError::Transient(reason)) => {
            tracing::warn!("REDIS_URL: {reason}; clicks go to the database until it is there");
            Ok(())
        }
        Err(AttemptError::Permanent(reason)) => Err(ConnectError {
            dependency: "REDIS_URL",
            reason,
        }),
    }
}

impl From<RecoverShardError> for AttemptError {
    fn from(error: RecoverShardError) -> Self {
        match error {
            RecoverShardError::Recovery(error) => error.into(),
            unpublished @ RecoverShardError::Unpublished(_) => {
                Self::Transient(unpublished.to_string())
            }
        }
    }
}

impl From<RecoveryError> for AttemptError {
    fn from(error: RecoveryError) -> Self {
        match error {
            RecoveryError::FindMasterError(error) => error.into(),
            foreign @ RecoveryError::Foreign(_) => Self::Permanent(foreign.to_string()),
            transient => Self::Transient(transient.to_string()),
        }
    }
}

impl From<DrainError> for AttemptError {
    fn from(error: DrainError) -> Self {
        match error {
            DrainError::Recovery(error) => error.into(),
            transient => Self::Transient(transient.to_string()),
        }
    }
}

impl From<FindMasterError> for AttemptError {
    fn from(error: FindMasterError) -> Self {
        match error {
            FindMasterError::Wrong(reason) => Self::Permanent(reason),
            transient @ FindMasterError::Failed(_) => Self::Transient(transient.to_string()),
        }
    }
}

/// Warns of a Redis that may lose clicks. A Redis that forbids `CONFIG GET` gives no warning.
async fn warn_of_settings(redis: &RedisShard) {
    let setting = async |name: &str| {
        let found = redis.server_setting(name, SETTING_TIMEOUT).await;
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

/// Repeats `attempt` until it succeeds, fails for good, or `limit` has passed since `started`.
pub(super) async fn retry<T>(
    dependency: &'static str,
    started: Instant,
    limit: Duration,
    attempt: impl AsyncFn() -> Result<T, AttemptError>,
) -> Result<T, AttemptError> {
    let mut pauses = Pauses {
        dependency,
        deadline: started + limit,
        limit,
        next: FIRST_PAUSE,
    };
    loop {
        match attempt().await {
            Ok(value) => return Ok(value),
            Err(error) => pauses.pause(error).await?,
        }
    }
}

/// The pauses between attempts, each longer than the one before.
struct Pauses {
    dependency: &'static str,
    deadline: Instant,
    limit: Duration,
    next: Duration,
}

impl Pauses {
    /// Waits after an error that may pass, unless the limit is reached.
    async fn pause(&mut self, error: AttemptError) -> Result<(), AttemptError> {
        let reason = match error {
            permanent @ AttemptError::Permanent(_) => return Err(permanent),
            // Parsers explain themselves on several lines; the log has one.
            AttemptError::Transient(reason) => reason.lines().collect::<Vec<_>>().join("; "),
        };
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let waited = self.limit.as_secs();
            return Err(AttemptError::Transient(format!(
                "given up after {waited} s: {reason}"
            )));
        }
        tracing::warn!(
            "{}: {reason}; trying again for another {} s",
            self.dependency,
            left.as_secs()
        );
        sleep(self.next.min(left)).await;
        self.next = (self.next * 2).min(MAX_PAUSE);
        Ok(())
    }
}
