//! The Redis that instances share: connections with a deadline, and one opinion on whether it is up.
//!
//! A handle is on one data set, see [`RedisShards`]. Redis is *up* from when it was admitted (see `master`) until
//! a command fails or misses its deadline; then it is *away* for the whole process and nobody waits for it.
//! A probe (run by the server) brings it back. One that is away because it is *full* can still be read.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use deadpool_redis::PoolError;
use metrics::Gauge;
use redis::{ConnectionInfo, ErrorKind, FromRedisValue, RedisError};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::domain::{Clock, Shard, Timestamp};
use crate::telemetry::metrics::{Connections, REDIS_ERRORS, REDIS_UP};

mod call;
mod connection;
pub mod keys;
mod master;
pub mod scripts;
mod shards;

use keys::Keys;

pub use call::{Call, Script};
pub use connection::{DedicatedConnection, Reply};
use master::Master;
pub use master::{Candidate, FindMasterError};
pub use shards::RedisShards;

/// Redis did not do what was asked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RedisFailure {
    /// It refused: nothing was done.
    #[error("Redis refused: {0}")]
    Refused(String),
    /// It refused, for it has no room: nothing was done. It still answers who only reads.
    #[error("Redis is full: {0}")]
    Full(String),
    /// No answer in time, or the connection broke: it may or may not have been done.
    #[error("Redis did not answer: {0}")]
    NoAnswer(String),
}

/// The shared Redis; cheap to clone.
#[derive(Clone)]
pub struct RedisShard {
    inner: Arc<Inner>,
}

struct Inner {
    /// Addresses to ask; of a cluster some of its masters.
    servers: Arc<[ConnectionInfo]>,
    keys: Keys,
    deadline: Duration,
    clock: Arc<dyn Clock>,
    process: String,
    /// Where connections are made to; none before the first was admitted.
    master: RwLock<Option<Arc<Master>>>,
    /// The newest epoch that is known here; empty before the first.
    epoch: RwLock<Arc<str>>,
    up: AtomicBool,
    /// Whether it is away for want of room alone.
    full: AtomicBool,
    /// How often connections were found cut.
    cuts: AtomicU64,
    is_up: Gauge,
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

impl RedisShard {
    /// A handle on the data set with these keys, away until it is admitted. `deadline` bounds every command.
    fn new(
        servers: Arc<[ConnectionInfo]>,
        keys: Keys,
        deadline: Duration,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let names_epochs = keys.shard().map_or_else(String::new, Shard::names_epochs);
        let inner = Inner {
            servers,
            deadline,
            clock,
            process: format!("{names_epochs}{:016x}", random_id()),
            is_up: match keys.shard() {
                None => metrics::gauge!(REDIS_UP),
                Some(shard) => metrics::gauge!(REDIS_UP, "shard" => shard.index().to_string()),
            },
            keys,
            master: RwLock::new(None),
            epoch: RwLock::new("".into()),
            up: AtomicBool::new(false),
            full: AtomicBool::new(false),
            cuts: AtomicU64::new(0),
            tripped: Notify::new(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Which data set this is.
    #[must_use]
    pub fn shard(&self) -> Shard {
        self.inner.keys.shard().unwrap_or(Shard::ONLY)
    }

    /// The names of its keys.
    #[must_use]
    pub fn keys(&self) -> &Keys {
        &self.inner.keys
    }

    /// How the epochs begin that this process gives to a data set that has none: random, 16 hexadecimal
    /// digits, on a cluster with the shard before them.
    #[must_use]
    pub fn process(&self) -> &str {
        &self.inner.process
    }

    /// The moment it is now, by the clock of this machine.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    /// The epoch that the data set was in when it was last heard of.
    #[must_use]
    pub fn epoch(&self) -> Arc<str> {
        Arc::clone(&read(&self.inner.epoch))
    }

    /// Notes the epoch that Redis told.
    pub fn learn_epoch(&self, epoch: &str) {
        if *self.epoch() != *epoch {
            *write(&self.inner.epoch) = epoch.into();
        }
    }

    /// The life of the server that was admitted last (see `master`); empty before the first.
    #[must_use]
    pub fn life(&self) -> Arc<str> {
        read(&self.inner.master)
            .as_ref()
            .map_or_else(|| "".into(), |master| Arc::clone(&master.life))
    }

    /// The life that the server names now: connections outlive a change of it that is none of its data.
    ///
    /// # Errors
    /// [`RedisFailure`].
    pub async fn current_replication_id(&self, deadline: Duration) -> Result<String, RedisFailure> {
        let told: String = self
            .query(&master::ask_info("replication"), deadline)
            .await?;
        master::parse_replication_id(&told)
    }

    /// From here on connections are made to this server. What was learnt there is in `epoch`.
    ///
    /// # Errors
    /// When no connections can be made.
    pub fn use_master(&self, candidate: Candidate, epoch: &str) -> Result<(), RedisFailure> {
        // First: whoever has a connection to the new master knows its epoch.
        self.learn_epoch(epoch);
        // Known already: connections to it, also those being made, stay.
        if self.master().is_ok_and(|master| candidate.is(&master)) {
            return Ok(());
        }
        let master = Arc::new(candidate.into_master()?);
        *write(&self.inner.master) = Some(master);
        Ok(())
    }

    fn master(&self) -> Result<Arc<Master>, RedisFailure> {
        let master = read(&self.inner.master).as_ref().map(Arc::clone);
        master.ok_or_else(|| RedisFailure::Refused("not compared with the database yet".into()))
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

    /// Whether it can be read, and what is pending in it written back: while it is up, and while it is full.
    #[must_use]
    pub fn is_reachable(&self) -> bool {
        self.is_up() || self.inner.full.load(Ordering::Acquire)
    }

    fn cuts(&self) -> u64 {
        self.inner.cuts.load(Ordering::Acquire)
    }

    /// Notes that a connection was found cut which was made after so many cuts: those that are as old probably are.
    fn note_cut(&self, cuts: u64) {
        let noted = &self.inner.cuts;
        // Whoever finds the same cut later finds it noted.
        let _ = noted.compare_exchange(cuts, cuts + 1, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Notes why it is away.
    pub fn note_why_away(&self, failure: &RedisFailure) {
        let full = matches!(failure, RedisFailure::Full(_));
        self.inner.full.store(full, Ordering::Release);
    }

    /// Notes that it is away. Says so once, and wakes whoever waits in [`RedisShard::tripped`].
    pub fn trip(&self, failure: &RedisFailure) {
        self.note_why_away(failure);
        if self.inner.up.swap(false, Ordering::AcqRel) {
            let data_set = self.keys().tag();
            tracing::warn!(%failure, data_set, "Redis is away: clicks go to the database until it is back");
            self.inner.is_up.set(0);
            self.inner.tripped.notify_one();
        }
    }

    /// Notes that it is up.
    pub fn recovered(&self) {
        self.inner.is_up.set(1);
        self.inner.full.store(false, Ordering::Release);
        if !self.inner.up.swap(true, Ordering::AcqRel) {
            tracing::info!(data_set = self.keys().tag(), "Redis is up");
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
    pub fn dedicated_connection(&self) -> DedicatedConnection {
        DedicatedConnection::new(self.clone())
    }

    /// The connections of the pool at the moment; none while Redis is away.
    #[must_use]
    pub fn connections(&self) -> Connections {
        self.master()
            .map(|master| Connections::of(&master.pool.status()))
            .unwrap_or_default()
    }

    /// Whether the server answers at all; an answer does not mean that it takes writes.
    ///
    /// # Errors
    /// [`RedisFailure`].
    pub async fn ping(&self, deadline: Duration) -> Result<(), RedisFailure> {
        let ping = Call::plain(redis::cmd("PING"));
        self.query::<String>(&ping, deadline).await.map(drop)
    }

    /// A setting of the server; `None` where it has none of this name.
    ///
    /// # Errors
    /// [`RedisFailure`]; a server may forbid this question.
    pub async fn server_setting(
        &self,
        name: &str,
        deadline: Duration,
    ) -> Result<Option<String>, RedisFailure> {
        let mut get = redis::cmd("CONFIG");
        get.arg("GET").arg(name);
        let found: Vec<(String, String)> = self.query(&Call::plain(get), deadline).await?;
        Ok(found.into_iter().next().map(|(_, value)| value))
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
        let master = self.master()?;
        let work = async {
            let mut connection = match master.pool.get().await {
                Ok(connection) => connection,
                Err(error) => {
                    let failure = RedisFailure::Refused(error.to_string());
                    // A connection that cannot be made tells more than an answer that is late.
                    if !matches!(error, PoolError::Timeout(_)) {
                        self.trip(&failure);
                    }
                    return Err(failure);
                }
            };
            call.send(&mut *connection).await
        };
        // Boxed: the future is large because it may connect; callers that seldom come here need not pay for its size.
        let answer = timeout(deadline, Box::pin(work)).await;
        answer
            .unwrap_or_else(|_| Err(RedisFailure::late()))
            .inspect_err(|_| metrics::counter!(REDIS_ERRORS).increment(1))
    }
}

impl RedisFailure {
    fn late() -> Self {
        Self::NoAnswer("the deadline passed".into())
    }

    /// The same where nothing was asked that changes anything.
    fn refused(self) -> Self {
        match self {
            Self::NoAnswer(why) => Self::Refused(why),
            refused => refused,
        }
    }
}

impl From<RedisError> for RedisFailure {
    fn from(error: RedisError) -> Self {
        match error.kind() {
            _ if error.code() == Some("OOM") => Self::Full(error.to_string()),
            // An error reply: the server read the command and did nothing.
            ErrorKind::Server(_) | ErrorKind::Extension => Self::Refused(error.to_string()),
            _ => Self::NoAnswer(error.to_string()),
        }
    }
}

fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> std::sync::RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
