//! Where batches go: Redis and the database's journal, and how long each may take.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::timeout;

use crate::cache::{InvalidationCursor, LinkCache};
use crate::clicks::{LinkChanges, RedisSink};
use crate::store::{ClickBatch, LinkClicks, Store, StoreError};
use crate::telemetry::metrics::{BATCH_ACK, BATCHES, MEMORY_ONLY, bounded};
use crate::telemetry::seconds_since;

/// Where batches can go.
pub struct Sinks {
    /// A shard of Redis, in production.
    pub redis: Option<RedisSink>,
    /// The database.
    pub store: Store,
    /// The cache that applies the link changes which an acknowledgement reports.
    pub cache: LinkCache,
    /// The link changes that no acknowledgement reports.
    pub link_changes: Arc<LinkChanges>,
    /// The runtime of the database's connections. `None` where they have threads of their own: a change to a third thread
    /// would gain nothing.
    pub database_runtime: Option<Handle>,
    /// How long the database may take to keep a batch.
    pub deadline: JournalDeadline,
    /// How long it may take to list changes of links.
    pub changes_deadline: JournalDeadline,
    /// The append that is under way, also past its deadline. Only one delivery uses these sinks.
    pub running: Mutex<Option<RunningAppend>>,
}

/// An append to the journal.
pub struct RunningAppend {
    number: u64,
    append: JoinHandle<Result<(), StoreError>>,
}

/// How long the journal may take to acknowledge a batch. A journal that responds but is busy gets more time, because a
/// click that is in memory alone can be lost and is in no count. A journal that was late gets little, until it responds
/// again.
pub struct JournalDeadline {
    while_responsive: Duration,
    once_late: Duration,
    is_late: AtomicBool,
}

impl JournalDeadline {
    /// For a journal that has not been late yet.
    #[must_use]
    pub fn new(while_responsive: Duration, once_late: Duration) -> Self {
        Self {
            while_responsive,
            once_late,
            is_late: AtomicBool::new(false),
        }
    }

    fn current(&self) -> Duration {
        if self.is_late.load(Ordering::Relaxed) {
            self.once_late
        } else {
            self.while_responsive
        }
    }

    fn note(&self, is_late: bool) {
        self.is_late.store(is_late, Ordering::Relaxed);
    }
}

/// What became of a batch that was to go to the journal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Appended {
    Written,
    /// There was no connection: the batch may go elsewhere.
    NotSent,
    InDoubt,
}

impl Sinks {
    /// Runs a call to the database to its end, also when its caller is gone.
    pub(super) fn spawn<T: Send + 'static>(
        &self,
        call: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        let runtime = self.database_runtime.clone();
        runtime.unwrap_or_else(Handle::current).spawn(call)
    }

    /// Writes a batch to the journal within the time that a redirect may wait. `parked_in` is the epoch of a batch that is
    /// in doubt.
    pub(super) async fn append(&self, batch: &ClickBatch, parked_in: Option<Arc<str>>) -> Appended {
        let deadline = self.deadline.current();
        self.append_within(deadline, batch, parked_in).await
    }

    /// Writes a batch to the journal with the most time that it may take: no redirect waits.
    pub(super) async fn append_in_background(
        &self,
        batch: &ClickBatch,
        parked_in: Option<Arc<str>>,
    ) -> Appended {
        let deadline = self.deadline.while_responsive;
        self.append_within(deadline, batch, parked_in).await
    }

    async fn append_within(
        &self,
        deadline: Duration,
        batch: &ClickBatch,
        parked_in: Option<Arc<str>>,
    ) -> Appended {
        let started = Instant::now();
        let mut is_sent = false;
        let append = self.append_once(batch, parked_in, &mut is_sent);
        let response = timeout(deadline, append).await;
        self.deadline.note(response.is_err());
        let failure = match response {
            Ok(Ok(Ok(()))) => {
                note_acknowledged("journal", started);
                return Appended::Written;
            }
            Ok(Ok(Err(StoreError::Unreachable(why)))) => {
                tracing::debug!(why, "the journal cannot be reached");
                Appended::NotSent
            }
            Ok(Ok(Err(error))) => {
                tracing::debug!(%error, "a batch could not be written to the journal");
                Appended::InDoubt
            }
            Ok(Err(error)) => {
                tracing::error!(%error, "writing to the journal failed");
                Appended::InDoubt
            }
            Err(_) => {
                tracing::debug!("the journal did not respond in time");
                if is_sent {
                    Appended::InDoubt
                } else {
                    Appended::NotSent
                }
            }
        };
        count_batch("journal", "failed");
        failure
    }

    /// Sends a batch to the journal, unless the append that ran past its deadline is of this batch: then its result is the
    /// result. An append of another batch has to end first. So a slow journal never has two of them at once.
    async fn append_once(
        &self,
        batch: &ClickBatch,
        parked_in: Option<Arc<str>>,
        is_sent: &mut bool,
    ) -> Result<Result<(), StoreError>, JoinError> {
        let mut running = self.running.lock().await;
        if let Some(earlier) = running.as_mut() {
            *is_sent = earlier.number == batch.number;
            let result = (&mut earlier.append).await;
            *running = None;
            if *is_sent {
                return result;
            }
        }
        let (clicks, batch) = (Arc::clone(&self.store.clicks), batch.clone());
        *is_sent = true;
        let this = running.insert(RunningAppend {
            number: batch.number,
            append: self.spawn(async move { clicks.append(&batch, parked_in.as_deref()).await }),
        });
        let result = (&mut this.append).await;
        *running = None;
        result
    }

    /// Whether links changed since the cache had this version.
    pub(super) fn is_overtaken(&self, version: Option<u64>) -> bool {
        version.is_some_and(|version| self.cache.version() != version)
    }

    /// Applies link changes for the redirects of a batch whose acknowledgement does not report them: those that Redis lists, or
    /// else the database.
    pub(super) async fn apply_link_changes(&self) {
        let Some(redis) = &self.redis else { return };
        if !self.cache.synchronise_unless_away(redis.shard()).await {
            self.read_link_changes().await;
        }
    }

    /// Applies the changes up to the cursor of an acknowledgement: those that Redis lists, or else the database.
    pub(super) async fn catch_up_to(&self, cursor: &InvalidationCursor) {
        if !self.cache.catch_up_to(cursor).await {
            self.read_link_changes().await;
        }
    }

    /// Applies the link changes that the database lists. If it does not do so in time, links are followed as they are in memory.
    async fn read_link_changes(&self) {
        let link_changes = Arc::clone(&self.link_changes);
        // It goes on past its deadline, for those who come later.
        let following = self.spawn(async move { link_changes.follow().await });
        let followed = timeout(self.changes_deadline.current(), following).await;
        self.changes_deadline.note(followed.is_err());
        match followed {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => tracing::debug!(%error, "changes of links are not known"),
            Ok(Err(error)) => tracing::error!(%error, "reading changes of links failed"),
            Err(_) => {
                tracing::debug!("the database did not list changes of links in time");
            }
        }
    }
}

/// How many answered clicks are in the memory of this process alone.
#[derive(Default)]
pub struct MemoryOnly(StdMutex<InMemory>);

/// The clicks of all rows, also of aliases: a count needs all of them.
fn of_rows(clicks: &[LinkClicks]) -> u64 {
    clicks.iter().map(|row| row.clicks).sum()
}

#[derive(Default)]
struct InMemory {
    clicks: u64,
    /// Since when there are any.
    since: Option<Instant>,
}

impl MemoryOnly {
    /// The clicks at the moment.
    #[must_use]
    pub fn clicks(&self) -> u64 {
        self.in_memory().clicks
    }

    /// For how long there have been such clicks without a break; `None` where there are none.
    #[must_use]
    pub fn lasts(&self) -> Option<Duration> {
        self.in_memory().since.map(|since| since.elapsed())
    }

    /// Notes that these clicks are in memory alone.
    pub(super) fn add(&self, clicks: &[LinkClicks]) {
        let mut in_memory = self.in_memory();
        in_memory.clicks = in_memory.clicks.saturating_add(of_rows(clicks));
        in_memory.since.get_or_insert_with(Instant::now);
        metrics::gauge!(MEMORY_ONLY).increment(bounded(LinkClicks::total(clicks)));
    }

    /// Notes that a sink has these clicks now.
    pub(super) fn remove(&self, clicks: &[LinkClicks]) {
        let mut in_memory = self.in_memory();
        in_memory.clicks = in_memory.clicks.saturating_sub(of_rows(clicks));
        if in_memory.clicks == 0 {
            in_memory.since = None;
        }
        metrics::gauge!(MEMORY_ONLY).decrement(bounded(LinkClicks::total(clicks)));
    }

    fn in_memory(&self) -> MutexGuard<'_, InMemory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Notes that a sink acknowledged a batch.
pub(super) fn note_acknowledged(sink: &'static str, sent: Instant) {
    count_batch(sink, "acknowledged");
    metrics::histogram!(BATCH_ACK, "sink" => sink).record(seconds_since(sent));
}

/// Counts what became of a batch.
pub(super) fn count_batch(sink: &'static str, outcome: &'static str) {
    metrics::counter!(BATCHES, "sink" => sink, "outcome" => outcome).increment(1);
}
