//! Takes batches to a sink: Redis while it is up, otherwise the database's journal, otherwise memory.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use futures_util::future::join;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::cache::LinkCache;
use crate::clicks::{RecordError, RedisSink};
use crate::domain::LinkId;
use crate::redis::random_id;
use crate::store::{ClickBatch, Clicks, RecorderId, StoreError};
use crate::telemetry::metrics::{BATCH_ACK, BATCH_CLICKS, BATCHES, IN_DOUBT, MEMORY_ONLY, bounded};
use crate::telemetry::seconds_since;

mod redelivery;

use redelivery::Redelivered;

/// Most links in one batch: bounds how long one script call or statement keeps a sink busy.
const MOST_LINKS: usize = 1_000;

/// Where batches can go.
pub struct Sinks {
    /// A shard of Redis, in production.
    pub redis: Option<RedisSink>,
    /// The database.
    pub clicks: Arc<dyn Clicks>,
    /// Where link changes seen with an acknowledgement are taken in.
    pub cache: LinkCache,
    /// The runtime of the database's connections. `None` where they have threads of their own: then nothing is
    /// gained by changing over to a third.
    pub database_runtime: Option<Handle>,
    /// How long the database may take.
    pub deadline: JournalDeadline,
}

/// How long the journal is waited for: a while where it answers but is busy, since a click in memory alone can be
/// lost and is in no count; once it was late, only briefly until it answers again.
pub struct JournalDeadline {
    while_it_answers: Duration,
    once_late: Duration,
    is_late: AtomicBool,
}

impl JournalDeadline {
    /// For a journal that was not late yet.
    #[must_use]
    pub fn new(while_it_answers: Duration, once_late: Duration) -> Self {
        Self {
            while_it_answers,
            once_late,
            is_late: AtomicBool::new(false),
        }
    }

    fn current(&self) -> Duration {
        if self.is_late.load(Ordering::Relaxed) {
            self.once_late
        } else {
            self.while_it_answers
        }
    }

    fn note(&self, is_late: bool) {
        self.is_late.store(is_late, Ordering::Relaxed);
    }
}

impl Sinks {
    /// Does something in the database, and goes on even when nobody waits for it any more.
    fn spawn<T: Send + 'static>(
        &self,
        call: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        let runtime = self.database_runtime.clone();
        runtime.unwrap_or_else(Handle::current).spawn(call)
    }
}

/// How many answered clicks are nowhere but in the memory of this process.
#[derive(Default)]
pub struct MemoryOnly(AtomicU64);

impl MemoryOnly {
    /// Clicks at the moment.
    #[must_use]
    pub fn clicks(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// Delivers the batches of one recorder to one shard, one at a time, in order.
pub struct Delivery {
    sinks: Arc<Sinks>,
    memory_only: Arc<MemoryOnly>,
    recorder: RecorderId,
    number: u64,
    /// What Redis has to have before anything newer.
    for_redis: Option<ForRedis>,
    /// On its way to the journal, or sent there without an answer: nothing newer may go there before.
    doubtful_in_journal: Option<ClickBatch>,
    /// Clicks that were sent nowhere yet; one entry per link, so bounded by the number of links.
    waiting: HashMap<LinkId, u64, RandomState>,
    repair: Option<JoinHandle<Option<Redelivered>>>,
}

enum ForRedis {
    /// In memory alone, and sent nowhere yet.
    Unsent(ClickBatch),
    /// Sent, no answer: only Redis can tell.
    InDoubt {
        batch: ClickBatch,
        /// To which data set it was sent.
        epoch: Arc<str>,
        /// Whether the database holds it, too: then a crash does not lose it.
        is_parked: bool,
    },
}

impl Delivery {
    /// Delivers for a fresh recorder.
    #[must_use]
    pub fn new(sinks: Sinks, memory_only: Arc<MemoryOnly>) -> Self {
        Self {
            sinks: Arc::new(sinks),
            memory_only,
            // The databases keep it as a signed number.
            recorder: random_id() >> 1,
            number: 0,
            for_redis: None,
            doubtful_in_journal: None,
            waiting: HashMap::default(),
            repair: None,
        }
    }

    /// Delivers clicks, one entry per click, within the deadlines of the sinks.
    pub(super) async fn deliver(&mut self, clicks: Vec<LinkId>) {
        if clicks.is_empty() {
            return take_in_changes(&self.sinks).await;
        }
        let mut clicks = summed(clicks);
        while !clicks.is_empty() {
            let rest = clicks.split_off(clicks.len().min(MOST_LINKS));
            self.deliver_batch(clicks).await;
            clicks = rest;
        }
    }

    async fn deliver_batch(&mut self, clicks: Vec<(LinkId, u64)>) {
        self.number += 1;
        let batch = ClickBatch {
            recorder: self.recorder,
            number: self.number,
            clicks,
        };
        let sinks = Arc::clone(&self.sinks);
        metrics::histogram!(BATCH_CLICKS).record(bounded(total(&batch.clicks)));
        let mut sent_to = None;
        if let Some(redis) = sinks.redis.as_ref().filter(|redis| self.may_use(redis)) {
            let sent = Instant::now();
            match redis.record(&batch).await {
                Ok(observed) => {
                    acknowledged("redis", sent);
                    return sinks.cache.catch_up_to(&observed).await;
                }
                Err(RecordError::Refused) => count_batch("redis", "refused"),
                Err(RecordError::InDoubt { epoch }) => {
                    count_batch("redis", "in_doubt");
                    sent_to = Some(epoch);
                }
            }
        }
        // No acknowledgement of Redis brings news: somebody may have deleted one of these links.
        join(
            self.deliver_elsewhere(batch, sent_to),
            take_in_changes(&sinks),
        )
        .await;
    }

    /// Delivers what Redis did not acknowledge, perhaps `sent_to` one of its epochs.
    async fn deliver_elsewhere(&mut self, batch: ClickBatch, sent_to: Option<Arc<str>>) {
        let sinks = Arc::clone(&self.sinks);
        if let Some(epoch) = sent_to {
            let is_parked = self.journal_is_free()
                && append(&sinks, &batch, Some(Arc::clone(&epoch))).await == Appended::Written;
            if !is_parked {
                self.only_in_memory(&batch.clicks);
            }
            metrics::gauge!(IN_DOUBT).increment(bounded(total(&batch.clicks)));
            self.for_redis = Some(ForRedis::InDoubt {
                batch,
                epoch,
                is_parked,
            });
        } else if !self.journal_is_free() {
            self.wait(&batch.clicks);
        } else {
            match append(&sinks, &batch, None).await {
                Appended::Written => {}
                Appended::NotSent => self.wait(&batch.clicks),
                Appended::InDoubt => {
                    self.only_in_memory(&batch.clicks);
                    self.doubtful_in_journal = Some(batch);
                }
            }
        }
    }

    /// Nothing newer may go to Redis before what it has to have first.
    fn may_use(&self, redis: &RedisSink) -> bool {
        redis.is_up() && self.for_redis.is_none()
    }

    /// Whether everything older is where it has to go first.
    fn journal_is_free(&self) -> bool {
        self.doubtful_in_journal.is_none()
            && self.waiting.is_empty()
            && matches!(
                self.for_redis,
                None | Some(ForRedis::InDoubt {
                    is_parked: true,
                    ..
                })
            )
    }

    fn wait(&mut self, clicks: &[(LinkId, u64)]) {
        self.only_in_memory(clicks);
        self.add_to_waiting(clicks);
    }

    fn add_to_waiting(&mut self, clicks: &[(LinkId, u64)]) {
        for (link, count) in clicks {
            *self.waiting.entry(*link).or_default() += count;
        }
    }

    fn only_in_memory(&self, clicks: &[(LinkId, u64)]) {
        let clicks = total(clicks);
        self.memory_only.0.fetch_add(clicks, Ordering::AcqRel);
        metrics::gauge!(MEMORY_ONLY).increment(bounded(clicks));
    }

    fn no_longer_only_in_memory(&self, clicks: &[(LinkId, u64)]) {
        let clicks = total(clicks);
        self.memory_only.0.fetch_sub(clicks, Ordering::AcqRel);
        metrics::gauge!(MEMORY_ONLY).decrement(bounded(clicks));
    }

    /// Whether anything is in doubt or held in memory.
    pub(super) fn needs_repair(&self) -> bool {
        self.for_redis.is_some() || !self.journal_is_free()
    }

    /// Whether anything would be lost with this process. A batch in doubt that the database holds is not:
    /// any instance settles it.
    pub(super) fn is_at_risk(&self) -> bool {
        !self.journal_is_free()
    }
}

/// Waiting visitors must learn of link changes also when no acknowledgement brings them.
async fn take_in_changes(sinks: &Sinks) {
    if let Some(redis) = sinks.redis.as_ref().filter(|redis| redis.is_reachable()) {
        // Where Redis is away, changes are learnt when it is back.
        let _ = sinks.cache.synchronise(redis.shard()).await;
    }
}

/// What became of a batch for the journal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Appended {
    Written,
    /// There was no connection: it may go elsewhere.
    NotSent,
    InDoubt,
}

/// Writes to the journal within the deadline. Held, where it was sent to Redis.
async fn append(sinks: &Sinks, batch: &ClickBatch, sent_to: Option<Arc<str>>) -> Appended {
    append_within(sinks.deadline.current(), sinks, batch, sent_to).await
}

async fn append_within(
    deadline: Duration,
    sinks: &Sinks,
    batch: &ClickBatch,
    sent_to: Option<Arc<str>>,
) -> Appended {
    let clicks = Arc::clone(&sinks.clicks);
    let batch = batch.clone();
    let written = sinks.spawn(async move { clicks.append(&batch, sent_to.as_deref()).await });
    let sent = Instant::now();
    let answer = timeout(deadline, written).await;
    sinks.deadline.note(answer.is_err());
    let not_written = match answer {
        Ok(Ok(Ok(()))) => {
            acknowledged("journal", sent);
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
            tracing::debug!("the journal did not answer in time");
            Appended::InDoubt
        }
    };
    count_batch("journal", "failed");
    not_written
}

fn acknowledged(sink: &'static str, sent: Instant) {
    count_batch(sink, "acknowledged");
    metrics::histogram!(BATCH_ACK, "sink" => sink).record(seconds_since(sent));
}

fn count_batch(sink: &'static str, outcome: &'static str) {
    metrics::counter!(BATCHES, "sink" => sink, "outcome" => outcome).increment(1);
}

/// Clicks per link, by rising id.
fn summed(mut clicks: Vec<LinkId>) -> Vec<(LinkId, u64)> {
    clicks.sort_unstable();
    clicks
        .chunk_by(PartialEq::eq)
        .map(|same| (same[0], same.len() as u64))
        .collect()
}

fn total(clicks: &[(LinkId, u64)]) -> u64 {
    clicks.iter().map(|(_, count)| count).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_batch_has_each_link_once_by_rising_id_and_loses_no_click(
            ids in proptest::collection::vec(1_i64..20, 0..200),
        ) {
            let batch = summed(ids.iter().map(|id| LinkId::parse(*id).unwrap()).collect());
            prop_assert!(batch.windows(2).all(|pair| pair[0].0 < pair[1].0));
            prop_assert_eq!(total(&batch), ids.len() as u64);
        }
    }
}
