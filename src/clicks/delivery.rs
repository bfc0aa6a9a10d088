//! Takes batches to a sink: Redis while it is up, otherwise the database's journal, otherwise memory.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::cache::LinkCache;
use crate::clicks::redis_sink::settle;
use crate::clicks::{NotRecorded, RedisSink};
use crate::domain::LinkId;
use crate::shared::random_id;
use crate::store::{ClickBatch, Clicks, RecorderId};
use crate::telemetry::metrics::{BATCH_ACK, BATCH_CLICKS, BATCHES, IN_DOUBT, MEMORY_ONLY};
use crate::telemetry::seconds_since;

/// Most links in one batch: bounds how long one script call or statement keeps a sink busy.
const MOST_LINKS: usize = 1_000;

/// Pause between two tries to deliver what is held in memory.
const REPAIR_PAUSE: Duration = Duration::from_millis(100);

/// Where batches can go.
pub struct Sinks {
    /// A shard of Redis, in production.
    pub redis: Option<RedisSink>,
    /// The database.
    pub clicks: Arc<dyn Clicks>,
    /// Where link changes seen with an acknowledgement are taken in.
    pub cache: LinkCache,
    /// The runtime on which database calls run.
    pub database_runtime: Handle,
    /// How long the database may take.
    pub deadline: Duration,
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
    /// Sent to Redis, no answer: only Redis can tell, nothing newer may go there before.
    doubtful_in_redis: Option<Doubtful>,
    /// Sent to the journal, no answer: nothing newer may go there before.
    doubtful_in_journal: Option<ClickBatch>,
    /// Clicks that were sent nowhere yet; one entry per link, so bounded by the number of links.
    waiting: HashMap<LinkId, u64, RandomState>,
    repair: Option<JoinHandle<Option<Repaired>>>,
}

struct Doubtful {
    batch: ClickBatch,
    /// To which Redis data set it was sent; `None` while it was sent to none.
    epoch: Option<Arc<str>>,
    /// Whether the database holds it, too: then a crash does not lose it.
    is_held: bool,
}

type Repairing = Pin<Box<dyn Future<Output = Option<Repaired>> + Send>>;

/// What a repair brought to its end.
enum Repaired {
    Redis,
    InDoubt { epoch: Arc<str> },
    Held,
    Journal,
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
            doubtful_in_redis: None,
            doubtful_in_journal: None,
            waiting: HashMap::default(),
            repair: None,
        }
    }

    /// Delivers clicks, one entry per click, within the deadlines of the sinks.
    pub(super) async fn deliver(&mut self, clicks: Vec<LinkId>) {
        if clicks.is_empty() {
            return self.take_in_changes().await;
        }
        let mut clicks = summed(clicks);
        while !clicks.is_empty() {
            let rest = clicks.split_off(clicks.len().min(MOST_LINKS));
            self.deliver_batch(clicks).await;
            clicks = rest;
        }
    }

    /// Without clicks nothing needs a batch, but whoever waits wants to know of changes.
    async fn take_in_changes(&mut self) {
        if let Some(redis) = self.sinks.redis.as_ref().filter(|redis| redis.is_up()) {
            // Where Redis is away, changes are learnt when it is back.
            let _ = self.sinks.cache.synchronise(redis.shard()).await;
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
                    return sinks.cache.observe(&observed).await;
                }
                Err(NotRecorded::Refused) => count_batch("redis", "refused"),
                Err(NotRecorded::InDoubt { epoch }) => {
                    count_batch("redis", "in_doubt");
                    sent_to = Some(epoch);
                }
            }
        }
        if sent_to.is_some() {
            let is_held = self.journal_is_free() && append(&sinks, &batch, sent_to.clone()).await;
            if !is_held {
                self.only_in_memory(&batch.clicks);
            }
            metrics::gauge!(IN_DOUBT).increment(bounded(total(&batch.clicks)));
            self.doubtful_in_redis = Some(Doubtful {
                batch,
                epoch: sent_to,
                is_held,
            });
        } else if !self.journal_is_free() {
            self.wait(&batch.clicks);
        } else if !append(&sinks, &batch, None).await {
            self.only_in_memory(&batch.clicks);
            self.doubtful_in_journal = Some(batch);
        }
    }

    /// Nothing newer may go to Redis while a batch is in doubt there.
    fn may_use(&self, redis: &RedisSink) -> bool {
        redis.is_up() && self.doubtful_in_redis.is_none()
    }

    /// Whether everything older is where it has to go first.
    fn journal_is_free(&self) -> bool {
        self.doubtful_in_journal.is_none()
            && self.waiting.is_empty()
            && self
                .doubtful_in_redis
                .as_ref()
                .is_none_or(|doubt| doubt.is_held)
    }

    fn wait(&mut self, clicks: &[(LinkId, u64)]) {
        self.only_in_memory(clicks);
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
        self.doubtful_in_redis.is_some() || !self.journal_is_free()
    }

    /// Whether anything would be lost with this process. A batch in doubt that the database holds is not:
    /// any instance settles it.
    pub(super) fn is_at_risk(&self) -> bool {
        !self.journal_is_free()
    }

    /// Does one step towards delivering what is in doubt or held in memory. May be dropped at any
    /// time: the step goes on at the next call.
    pub(super) async fn repaired(&mut self) {
        if self.repair.is_none() {
            let step = self.next_step();
            // A task of its own: its deadlines must not run out while this one is busy with batches.
            self.repair = Some(Handle::current().spawn(step));
        }
        let Some(repair) = &mut self.repair else {
            return;
        };
        let repaired = repair.await.ok().flatten();
        self.repair = None;
        match repaired {
            Some(Repaired::Redis) => {
                if let Some(settled) = self.doubtful_in_redis.take() {
                    metrics::gauge!(IN_DOUBT).decrement(bounded(total(&settled.batch.clicks)));
                    if !settled.is_held {
                        self.no_longer_only_in_memory(&settled.batch.clicks);
                    }
                }
            }
            Some(Repaired::InDoubt { epoch }) => {
                if let Some(doubt) = &mut self.doubtful_in_redis {
                    doubt.epoch = Some(epoch);
                }
            }
            Some(Repaired::Held) => {
                if let Some(doubt) = &mut self.doubtful_in_redis {
                    doubt.is_held = true;
                    let clicks = doubt.batch.clicks.clone();
                    self.no_longer_only_in_memory(&clicks);
                }
            }
            Some(Repaired::Journal) => {
                if let Some(batch) = self.doubtful_in_journal.take() {
                    self.no_longer_only_in_memory(&batch.clicks);
                }
            }
            None => {}
        }
    }

    /// Older numbers first: a sink takes whatever is not above its last number for applied.
    fn next_step(&mut self) -> Repairing {
        let sinks = Arc::clone(&self.sinks);
        if sinks
            .redis
            .as_ref()
            .is_some_and(|redis| self.may_use(redis))
            && !self.waiting.is_empty()
        {
            let batch = self.batch_of_waiting();
            metrics::gauge!(IN_DOUBT).increment(bounded(total(&batch.clicks)));
            self.doubtful_in_redis = Some(Doubtful {
                batch,
                epoch: None,
                is_held: false,
            });
        }
        if let Some(doubt) = &self.doubtful_in_redis
            && sinks.redis.as_ref().is_some_and(RedisSink::is_up)
        {
            let (batch, epoch) = (doubt.batch.clone(), doubt.epoch.clone());
            return Box::pin(async move { send_to_redis_again(&sinks, &batch, epoch).await });
        }
        if let Some(batch) = self.doubtful_in_journal.clone() {
            return Box::pin(
                async move { append_again(&sinks, &batch, None, Repaired::Journal).await },
            );
        }
        // Redis went away before it was sent there: it may as well go to the journal.
        if let Some(unsent) = self
            .doubtful_in_redis
            .take_if(|doubt| doubt.epoch.is_none())
        {
            let batch = unsent.batch;
            metrics::gauge!(IN_DOUBT).decrement(bounded(total(&batch.clicks)));
            self.doubtful_in_journal = Some(batch.clone());
            return Box::pin(
                async move { append_again(&sinks, &batch, None, Repaired::Journal).await },
            );
        }
        if let Some(doubt) = self
            .doubtful_in_redis
            .as_ref()
            .filter(|doubt| !doubt.is_held)
        {
            let (batch, epoch) = (doubt.batch.clone(), doubt.epoch.clone());
            return Box::pin(
                async move { append_again(&sinks, &batch, epoch, Repaired::Held).await },
            );
        }
        if !self.waiting.is_empty() {
            let batch = self.batch_of_waiting();
            self.doubtful_in_journal = Some(batch.clone());
            return Box::pin(
                async move { append_again(&sinks, &batch, None, Repaired::Journal).await },
            );
        }
        Box::pin(async {
            sleep(REPAIR_PAUSE).await;
            None
        })
    }

    fn batch_of_waiting(&mut self) -> ClickBatch {
        let mut links: Vec<_> = self.waiting.keys().copied().take(MOST_LINKS).collect();
        links.sort_unstable();
        let clicks = links
            .into_iter()
            .filter_map(|link| self.waiting.remove_entry(&link))
            .collect();
        self.number += 1;
        ClickBatch {
            recorder: self.recorder,
            number: self.number,
            clicks,
        }
    }
}

/// Writes to the journal within the deadline, on the database's own runtime; whether it is in for sure.
/// Held, where it was sent to Redis.
async fn append(sinks: &Sinks, batch: &ClickBatch, sent_to: Option<Arc<str>>) -> bool {
    let clicks = Arc::clone(&sinks.clicks);
    let batch = batch.clone();
    let written = sinks
        .database_runtime
        .spawn(async move { clicks.append(&batch, sent_to.as_deref()).await });
    let sent = Instant::now();
    match timeout(sinks.deadline, written).await {
        Ok(Ok(Ok(()))) => {
            acknowledged("journal", sent);
            return true;
        }
        Ok(Ok(Err(error))) => {
            tracing::debug!(%error, "a batch could not be written to the journal");
        }
        Ok(Err(error)) => tracing::error!(%error, "writing to the journal failed"),
        Err(_) => tracing::debug!("the journal did not answer in time"),
    }
    count_batch("journal", "failed");
    false
}

fn acknowledged(sink: &'static str, sent: Instant) {
    count_batch(sink, "acknowledged");
    metrics::histogram!(BATCH_ACK, "sink" => sink).record(seconds_since(sent));
}

fn count_batch(sink: &'static str, outcome: &'static str) {
    metrics::counter!(BATCHES, "sink" => sink, "outcome" => outcome).increment(1);
}

async fn append_again(
    sinks: &Sinks,
    batch: &ClickBatch,
    sent_to: Option<Arc<str>>,
    done: Repaired,
) -> Option<Repaired> {
    if append(sinks, batch, sent_to).await {
        return Some(done);
    }
    sleep(REPAIR_PAUSE).await;
    None
}

/// Redis applies the batch or knows it already; either way it is no longer in doubt.
async fn send_to_redis_again(
    sinks: &Sinks,
    batch: &ClickBatch,
    sent_to: Option<Arc<str>>,
) -> Option<Repaired> {
    let redis = sinks.redis.as_ref()?;
    let Some(epoch) = sent_to else {
        return match redis.record(batch).await {
            Ok(observed) => {
                sinks.cache.observe(&observed).await;
                Some(Repaired::Redis)
            }
            Err(NotRecorded::InDoubt { epoch }) => Some(Repaired::InDoubt { epoch }),
            Err(NotRecorded::Refused) => {
                sleep(REPAIR_PAUSE).await;
                None
            }
        };
    };
    if settle(redis, batch, &epoch, &sinks.cache).await.is_err() {
        sleep(REPAIR_PAUSE).await;
        return None;
    }
    let clicks = Arc::clone(&sinks.clicks);
    let (recorder, number) = (batch.recorder, batch.number);
    // Should this fail, whoever settles held batches next finds that Redis knows it.
    sinks
        .database_runtime
        .spawn(async move { clicks.release_held(recorder, number).await });
    Some(Repaired::Redis)
}

/// Clicks per link, by rising id.
fn summed(mut clicks: Vec<LinkId>) -> Vec<(LinkId, u64)> {
    clicks.sort_unstable();
    clicks
        .chunk_by(PartialEq::eq)
        .map(|same| (same[0], same.len() as u64))
        .collect()
}

/// A count as metrics keep it: exact up to 2^32.
fn bounded(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
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
            let batch = summed(ids.iter().copied().map(LinkId).collect());
            prop_assert!(batch.windows(2).all(|pair| pair[0].0 < pair[1].0));
            prop_assert_eq!(total(&batch), ids.len() as u64);
        }
    }
}
