//! One data set of Redis: its keys, its server, its term, and whether it is up.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use metrics::{Counter, Gauge};
use tokio::sync::Notify;

use super::call::Call;
use super::failure::RedisFailure;
use super::keys::Keys;
use super::master::{self, Candidate, FindMasterError, Master};
use super::servers::Seeds;
use super::term::Term;
use crate::domain::{Clock, Shard, Timestamp};
use crate::telemetry::acknowledgements::Acknowledgements;
use crate::telemetry::metrics::{
    Connections, REDIS_COMMANDS, REDIS_OUTAGES, REDIS_SUPERSEDED, REDIS_UP, counter_of_shard,
    gauge_of_shard, start_shard_at_zero,
};
use crate::telemetry::throttle::FlapLog;

/// Bytes for the classes of clicks, unless the settings say otherwise.
const ROOM_FOR_DETAILS: u64 = 64 << 20;

/// A handle on one data set; cheap to clone.
#[derive(Clone)]
pub struct RedisShard {
    inner: Arc<Inner>,
}

struct Inner {
    seeds: Arc<Seeds>,
    keys: Keys,
    deadline: Duration,
    clock: Arc<dyn Clock>,
    /// The server that connections are made to; `None` before one was compared with the database.
    master: RwLock<Option<Arc<Master>>>,
    up: AtomicBool,
    /// Whether another server has taken the place of this one. What is pending here is still written back.
    superseded: AtomicBool,
    /// Whether Redis is away for want of memory alone.
    full: AtomicBool,
    acknowledgements: Acknowledgements,
    /// How often this process found its connections broken.
    cuts: AtomicU64,
    /// How many bytes the classes of clicks may take there.
    room_for_details: AtomicU64,
    is_up: Gauge,
    commands: Counter,
    is_superseded: Gauge,
    /// Whether it was ever used.
    has_been_up: AtomicBool,
    /// Since when it is away, if it is.
    away_since: Mutex<Option<Instant>>,
    tripped: Notify,
    back: Notify,
    flaps: FlapLog,
}

/// A random number of 64 bits, which no other process draws.
#[must_use]
pub fn random_id() -> u64 {
    getrandom::u64().expect("without the system's random source nothing here can be safe")
}

impl RedisShard {
    /// A handle on the data set with these keys, away until [`RedisShard::recovered`]. `deadline` bounds every command.
    pub(super) fn new(
        seeds: Arc<Seeds>,
        keys: Keys,
        deadline: Duration,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let shard = keys.shard().unwrap_or(Shard::ONLY);
        start_shard_at_zero(shard);
        let gauges = [REDIS_UP, REDIS_SUPERSEDED].map(|name| gauge_of_shard(name, shard));
        let commands = counter_of_shard(REDIS_COMMANDS, shard);
        Self::with(seeds, keys, deadline, clock, gauges, commands)
    }

    /// Another data set that the same servers may have: one that was configured before. No metric shows its state.
    #[must_use]
    pub fn with_tag(&self, tag: &str) -> Self {
        let inner = &self.inner;
        Self::with(
            Arc::clone(&inner.seeds),
            inner.keys.with_tag(tag),
            inner.deadline,
            Arc::clone(&inner.clock),
            [Gauge::noop(), Gauge::noop()],
            Counter::noop(),
        )
    }

    fn with(
        seeds: Arc<Seeds>,
        keys: Keys,
        deadline: Duration,
        clock: Arc<dyn Clock>,
        [is_up, is_superseded]: [Gauge; 2],
        commands: Counter,
    ) -> Self {
        let inner = Inner {
            seeds,
            deadline,
            clock,
            is_up,
            commands,
            is_superseded,
            keys,
            master: RwLock::new(None),
            up: AtomicBool::new(false),
            superseded: AtomicBool::new(false),
            full: AtomicBool::new(false),
            acknowledgements: Acknowledgements::new(Instant::now()),
            cuts: AtomicU64::new(0),
            room_for_details: AtomicU64::new(ROOM_FOR_DETAILS),
            has_been_up: AtomicBool::new(false),
            away_since: Mutex::new(Some(Instant::now())),
            tripped: Notify::new(),
            back: Notify::new(),
            flaps: FlapLog::default(),
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

    /// The names of this data set's keys.
    #[must_use]
    pub fn keys(&self) -> &Keys {
        &self.inner.keys
    }

    /// Notes how long an acknowledgement took for which redirects waited.
    pub fn note_acknowledgement(&self, took: Duration) {
        self.inner.acknowledgements.note(took, Instant::now());
    }

    /// What such an acknowledgement takes now, as a multiple of what it takes when nothing delays it; infinite where that is not
    /// known yet, `None` where no redirect waits.
    #[must_use]
    pub fn delay(&self) -> Option<f64> {
        self.inner.acknowledgements.delay(Instant::now())
    }

    /// The time by the clock of this machine.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    /// The term in which the data set is used.
    ///
    /// # Errors
    /// [`RedisFailure::Refused`] before a server was taken into use.
    pub fn term(&self) -> Result<Arc<Term>, RedisFailure> {
        Ok(Arc::clone(&self.master()?.term))
    }

    /// The replication ID of the server in use; empty before the first.
    #[must_use]
    pub fn replication_id(&self) -> Arc<str> {
        self.master()
            .map_or_else(|_| "".into(), |master| Arc::clone(&master.replication_id))
    }

    /// Looks for the server of this data set: first where it was last, then where the configured servers redirect to, then
    /// where other masters of the cluster do. Servers with the replication IDs in `passed_over` are not wanted.
    ///
    /// # Errors
    /// When it does not answer or takes no writes.
    pub async fn find_master(&self, passed_over: &[String]) -> Result<Candidate, FindMasterError> {
        let last = self.master().ok().map(|master| master.address());
        let known = self.inner.seeds.all();
        master::find(last.into_iter().chain(known), self.keys(), passed_over).await
    }

    /// Whether a server has this data set.
    ///
    /// # Errors
    /// When none answers.
    pub async fn exists(&self) -> Result<bool, FindMasterError> {
        let mut candidate = self.find_master(&[]).await?;
        let mut exists = redis::cmd("HEXISTS");
        exists.arg(self.keys().state()).arg("epoch");
        Ok(candidate.query(&Call::plain(exists)).await?)
    }

    /// From now on connections are made to this server, in this term.
    ///
    /// # Errors
    /// When no connections can be made.
    pub fn use_master(&self, candidate: Candidate, term: Term) -> Result<(), RedisFailure> {
        self.inner.superseded.store(false, Ordering::Release);
        self.inner.is_superseded.set(0);
        // The same master as before: connections to it stay, also those that are being made.
        let is_same = |master: Arc<Master>| candidate.is(&master) && *master.term == term;
        if self.master().is_ok_and(is_same) {
            return Ok(());
        }
        let master = Arc::new(candidate.into_master(term)?);
        self.inner.seeds.note(self.shard(), &master.address());
        *write(&self.inner.master) = Some(master);
        Ok(())
    }

    /// Notes that another server has taken the place of the one in use. Returns whether that is news.
    #[must_use]
    pub fn note_superseded(&self) -> bool {
        self.inner.is_superseded.set(1);
        !self.inner.superseded.swap(true, Ordering::AcqRel)
    }

    /// Whether another server has taken the place of the one in use.
    #[must_use]
    pub fn is_superseded(&self) -> bool {
        self.inner.superseded.load(Ordering::Acquire)
    }

    pub(super) fn master(&self) -> Result<Arc<Master>, RedisFailure> {
        let master = read(&self.inner.master).as_ref().map(Arc::clone);
        master.ok_or_else(|| RedisFailure::Refused("not compared with the database yet".into()))
    }

    /// How long a command of a redirect's path may take.
    #[must_use]
    pub fn deadline(&self) -> Duration {
        self.inner.deadline
    }

    /// Whether commands are worth sending.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.inner.up.load(Ordering::Acquire)
    }

    /// Whether Redis can be read and its pending clicks written back: while it is up, and while it is full.
    #[must_use]
    pub fn is_reachable(&self) -> bool {
        self.is_up() || self.inner.full.load(Ordering::Acquire)
    }

    /// Whether pending clicks can be written back.
    #[must_use]
    pub fn is_flushable(&self) -> bool {
        self.is_reachable() || self.is_superseded()
    }

    /// How many bytes the classes of clicks that wait to be written back may take there.
    #[must_use]
    pub fn room_for_details(&self) -> u64 {
        self.inner.room_for_details.load(Ordering::Relaxed)
    }

    pub(super) fn set_room_for_details(&self, bytes: u64) {
        self.inner.room_for_details.store(bytes, Ordering::Relaxed);
    }

    pub(super) fn cuts(&self) -> u64 {
        self.inner.cuts.load(Ordering::Acquire)
    }

    /// Notes that a connection broke which was made after `cuts` cuts. Connections of the same age are probably broken,
    /// too, and are not used again.
    pub(super) fn note_cut(&self, cuts: u64) {
        let noted = &self.inner.cuts;
        // A later caller that finds the same cut changes nothing.
        let _ = noted.compare_exchange(cuts, cuts + 1, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Notes why Redis is away.
    pub fn note_why_away(&self, failure: &RedisFailure) {
        let full = matches!(failure, RedisFailure::Full(_));
        self.inner.full.store(full, Ordering::Release);
    }

    /// Notes that Redis is away, logs it unless it comes and goes, and wakes the task in [`RedisShard::tripped`].
    pub fn trip(&self, failure: &RedisFailure) {
        self.note_why_away(failure);
        if self.inner.up.swap(false, Ordering::AcqRel) {
            let data_set = self.keys().tag();
            if self.inner.flaps.away() {
                tracing::warn!(%failure, data_set, "Redis is away: clicks go to the database until it is back");
            } else {
                tracing::debug!(%failure, data_set, "Redis is away again");
            }
            counter_of_shard(REDIS_OUTAGES, self.shard()).increment(1);
            self.inner.is_up.set(0);
            *self.away_since() = Some(Instant::now());
            self.inner.tripped.notify_one();
        }
    }

    /// Notes that Redis is up.
    pub fn recovered(&self) {
        self.inner.is_up.set(1);
        self.inner.full.store(false, Ordering::Release);
        self.inner.has_been_up.store(true, Ordering::Release);
        if !self.inner.up.swap(true, Ordering::AcqRel) {
            *self.away_since() = None;
            self.inner.back.notify_waiters();
            let data_set = self.keys().tag();
            if self.inner.flaps.back() {
                tracing::info!(data_set, "Redis is up");
            } else {
                tracing::debug!(data_set, "Redis is up");
            }
        }
    }

    /// Logs how often Redis went away without a line of its own, once a minute at most. To be called every few seconds.
    pub fn report_flaps(&self) {
        if let Some(times) = self.inner.flaps.report(self.is_up()) {
            let (data_set, is_up) = (self.keys().tag(), self.is_up());
            tracing::warn!(times, is_up, data_set, "Redis goes away again and again");
        }
    }

    /// Counts a command that Redis is asked for.
    pub(super) fn count_command(&self) {
        self.inner.commands.increment(1);
    }

    /// Returns once Redis is away; for the one background task that probes it.
    pub async fn tripped(&self) {
        while self.is_up() {
            self.inner.tripped.notified().await;
        }
    }

    /// Whether this process has used it.
    #[must_use]
    pub fn has_been_up(&self) -> bool {
        self.inner.has_been_up.load(Ordering::Acquire)
    }

    /// Returns once Redis is up; at once if it is.
    pub async fn is_back(&self) {
        loop {
            let back = self.inner.back.notified();
            if self.is_up() {
                return;
            }
            back.await;
        }
    }

    /// For how long Redis has been away; zero if it is up.
    #[must_use]
    pub fn away_for(&self) -> Duration {
        self.away_since()
            .map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn away_since(&self) -> MutexGuard<'_, Option<Instant>> {
        self.inner
            .away_since
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// How many connections the pool has at the moment; none while Redis is away.
    #[must_use]
    pub fn connections(&self) -> Connections {
        self.master()
            .map(|master| Connections::of(&master.pool.status()))
            .unwrap_or_default()
    }
}

fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
