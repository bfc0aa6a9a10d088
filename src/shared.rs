//! The Redis that instances share: connections with a deadline, and one opinion on whether it is up.
//!
//! Redis is *up* until a command fails or misses its deadline; then it is *away* for the whole process
//! and nobody waits for it. A probe (run by the server) brings it back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deadpool_redis::{Config, Pool, PoolConfig, Runtime};
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{
    AsyncConnectionConfig, Client, Cmd, ErrorKind, FromRedisValue, RedisError, ServerErrorKind,
    ToRedisArgs,
};
use tokio::sync::{Mutex, Notify};
use tokio::time::timeout;

use crate::keyspace::Keyspace;
use crate::telemetry::metrics::{REDIS_ERRORS, REDIS_UP};

/// Connections that the occasional commands (API, flusher) share.
const POOL_SIZE: usize = 8;

/// Redis did not do what was asked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RedisFailure {
    /// It refused: nothing was done.
    #[error("Redis refused: {0}")]
    Refused(String),
    /// No answer in time, or the connection broke: it may or may not have been done.
    #[error("Redis did not answer: {0}")]
    NoAnswer(String),
}

/// The shared Redis; cheap to clone.
#[derive(Clone)]
pub struct SharedRedis {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    pool: Pool,
    keys: Keyspace,
    deadline: Duration,
    epoch: String,
    up: AtomicBool,
    tripped: Notify,
}

/// A number that nobody else draws.
#[must_use]
pub fn random_id() -> u64 {
    getrandom::u64().expect("without the system's random source nothing here can be safe")
}

/// Why the setting names no Redis.
#[derive(Debug, thiserror::Error)]
#[error("REDIS_URL: {0}")]
pub struct InvalidRedisUrl(String);

impl SharedRedis {
    /// A handle on the Redis at `url`; connects when first used. `deadline` bounds every command.
    ///
    /// # Errors
    /// When `url` is none that names a Redis.
    pub fn new(url: &str, keys: Keyspace, deadline: Duration) -> Result<Self, InvalidRedisUrl> {
        let client = Client::open(url).map_err(|error| InvalidRedisUrl(error.to_string()))?;
        let mut config = Config::from_url(url);
        let mut pool = PoolConfig::new(POOL_SIZE);
        pool.timeouts.wait = Some(deadline.max(Duration::from_millis(500)));
        pool.timeouts.create = pool.timeouts.wait;
        pool.timeouts.recycle = pool.timeouts.wait;
        config.pool = Some(pool);
        let pool = config
            .create_pool(Some(Runtime::Tokio1))
            .map_err(|error| InvalidRedisUrl(error.to_string()))?;
        let inner = Inner {
            client,
            pool,
            keys,
            deadline,
            epoch: format!("{:016x}", random_id()),
            up: AtomicBool::new(true),
            tripped: Notify::new(),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// The names of its keys.
    #[must_use]
    pub fn keys(&self) -> &Keyspace {
        &self.inner.keys
    }

    /// How the epochs begin that this process gives to a Redis that has none: random, 16 hexadecimal digits.
    #[must_use]
    pub fn epoch(&self) -> &str {
        &self.inner.epoch
    }

    /// How long an answer is waited for.
    #[must_use]
    pub fn deadline(&self) -> Duration {
        self.inner.deadline
    }

    /// Whether commands are worth sending.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.inner.up.load(Ordering::Acquire)
    }

    /// Notes that it is away. Says so once, and wakes whoever waits in [`SharedRedis::tripped`].
    pub fn trip(&self, failure: &RedisFailure) {
        metrics::counter!(REDIS_ERRORS).increment(1);
        if self.inner.up.swap(false, Ordering::AcqRel) {
            tracing::warn!(%failure, "Redis is away: clicks go to the database until it is back");
            metrics::gauge!(REDIS_UP).set(0);
            self.inner.tripped.notify_one();
        }
    }

    /// Notes that it is back.
    pub fn recovered(&self) {
        metrics::gauge!(REDIS_UP).set(1);
        if !self.inner.up.swap(true, Ordering::AcqRel) {
            tracing::info!("Redis is back");
        }
    }

    /// Returns once Redis is away; for the one task that probes it.
    pub async fn tripped(&self) {
        while self.is_up() {
            self.inner.tripped.notified().await;
        }
    }

    /// A connection of one's own, made when first used.
    #[must_use]
    pub fn lane(&self) -> Lane {
        Lane {
            redis: self.clone(),
            connection: Mutex::new(None),
        }
    }

    /// Whether it answers and takes writes: not loading, not a replica, not full.
    pub async fn accepts_writes(&self) -> bool {
        let mut set = redis::cmd("SET");
        set.arg(self.inner.keys.probe()).arg(1).arg("PX").arg(1_000);
        self.query::<String>(&Call::plain(set), self.inner.deadline)
            .await
            .is_ok()
    }

    /// Makes an occasional call on the pool, within `deadline`. A missing answer does not trip: bulk
    /// work may be slow for reasons of its own.
    ///
    /// # Errors
    /// [`RedisFailure`].
    pub async fn query<T: FromRedisValue>(
        &self,
        call: &Call,
        deadline: Duration,
    ) -> Result<T, RedisFailure> {
        let work = async {
            let connection = self.inner.pool.get().await;
            let mut connection =
                connection.map_err(|error| RedisFailure::Refused(error.to_string()))?;
            call.send(&mut *connection).await
        };
        timeout(deadline, work)
            .await
            .unwrap_or_else(|_| Err(RedisFailure::late()))
    }
}

/// A multiplexed connection that neither waits behind other parts' commands nor outlives a failure.
///
/// It belongs to the runtime on which it is used first.
pub struct Lane {
    redis: SharedRedis,
    connection: Mutex<Option<MultiplexedConnection>>,
}

impl Lane {
    /// Makes a call within the deadline of the handle. A failure trips Redis for everybody; a missing
    /// answer also closes the connection, since the answer may still come.
    ///
    /// # Errors
    /// [`RedisFailure`].
    pub async fn query<T: FromRedisValue>(&self, call: &Call) -> Result<T, RedisFailure> {
        let work = async {
            let mut connection = self.connect().await?;
            call.send(&mut connection).await
        };
        let outcome = timeout(self.redis.inner.deadline, work)
            .await
            .unwrap_or_else(|_| Err(RedisFailure::late()));
        if let Err(failure) = &outcome {
            self.redis.trip(failure);
            if matches!(failure, RedisFailure::NoAnswer(_)) {
                *self.connection.lock().await = None;
            }
        }
        outcome
    }

    async fn connect(&self) -> Result<MultiplexedConnection, RedisFailure> {
        let mut slot = self.connection.lock().await;
        if let Some(connection) = &*slot {
            return Ok(connection.clone());
        }
        // Nothing was sent yet: whatever fails here, nothing was done.
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        let connection = self
            .redis
            .inner
            .client
            .get_multiplexed_async_connection_with_config(&config)
            .await
            .map_err(|error| RedisFailure::Refused(error.to_string()))?;
        *slot = Some(connection.clone());
        Ok(connection)
    }
}

/// A Lua script, sent by its hash.
pub struct Script {
    body: &'static str,
    hash: String,
}

impl Script {
    /// A script from its text.
    #[must_use]
    pub fn new(body: &'static str) -> Self {
        let hash = redis::Script::new(body).get_hash().to_owned();
        Self { body, hash }
    }

    /// A call of this script; arguments may follow with [`Call::arg`].
    #[must_use]
    pub fn call(&self, keys: &[&str]) -> Call {
        let mut command = redis::cmd("EVALSHA");
        command.arg(&self.hash).arg(keys.len()).arg(keys);
        Call {
            command,
            body: Some(self.body),
        }
    }
}

/// One command, ready to be sent.
pub struct Call {
    command: Cmd,
    body: Option<&'static str>,
}

impl Call {
    /// A call of a plain command.
    #[must_use]
    pub fn plain(command: Cmd) -> Self {
        Self {
            command,
            body: None,
        }
    }

    /// Adds an argument, or each of several.
    pub fn arg(&mut self, value: impl ToRedisArgs) -> &mut Self {
        self.command.arg(value);
        self
    }

    async fn send<T: FromRedisValue>(
        &self,
        connection: &mut impl ConnectionLike,
    ) -> Result<T, RedisFailure> {
        let answer = self.command.query_async(connection).await;
        let (Some(body), Err(error)) = (self.body, &answer) else {
            return answer.map_err(RedisFailure::from);
        };
        if error.kind() != ErrorKind::Server(ServerErrorKind::NoScript) {
            return answer.map_err(RedisFailure::from);
        }
        let mut load = redis::cmd("SCRIPT");
        load.arg("LOAD").arg(body);
        load.exec_async(connection).await?;
        Ok(self.command.query_async(connection).await?)
    }
}

impl RedisFailure {
    fn late() -> Self {
        Self::NoAnswer("the deadline passed".into())
    }
}

impl From<RedisError> for RedisFailure {
    fn from(error: RedisError) -> Self {
        match error.kind() {
            // An error reply: the server read the command and did nothing.
            ErrorKind::Server(_) | ErrorKind::Extension => Self::Refused(error.to_string()),
            _ => Self::NoAnswer(error.to_string()),
        }
    }
}
