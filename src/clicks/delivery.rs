//! Brings the batches of one recorder to a sink: Redis while it is up, otherwise the database's journal, otherwise memory.

use std::sync::Arc;
use std::time::Instant;

use futures_util::future::join;
use metrics::Gauge;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::clicks::gathered::{Buffered, GatheredClicks, sum_by_link};
use crate::clicks::redelivery::{Attempt, Redelivered};
use crate::clicks::sinks::{Appended, Sinks, count_batch, note_acknowledged};
use crate::clicks::{MemoryOnly, RecordError, RedisSink};
use crate::domain::{Clock, Interval, Shard};
use crate::shared_redis::random_id;
use crate::store::{ClickBatch, ClickDetails, LinkClicks, RecorderId};
use crate::telemetry::metrics::{BATCH_CLICKS, IN_DOUBT, bounded, gauge_of_shard};

/// Max links in one batch: bounds how long one script call or statement keeps a sink busy.
const MAX_LINKS: usize = 1_000;

/// Delivers the batches of one recorder to one shard, one at a time, in order.
pub struct Delivery {
    sinks: Arc<Sinks>,
    memory_only: Arc<MemoryOnly>,
    clock: Arc<dyn Clock>,
    recorder: RecorderId,
    number: u64,
    /// The batch that Redis must have before any newer one.
    outstanding: Option<Outstanding>,
    /// The batch that was sent to the journal and not acknowledged: the journal gets nothing newer before.
    unacknowledged: Option<ClickBatch>,
    /// Clicks that were not sent yet.
    buffered: Buffered,
    redelivery: Option<JoinHandle<Option<Redelivered>>>,
}

/// What became of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivered {
    /// It is counted, or will be.
    Counted,
    /// It was given up, uncounted: links changed after those of its clicks were looked up.
    Overtaken,
}

/// A batch that Redis must have before any newer one.
enum Outstanding {
    /// It is in memory alone, and was not sent yet.
    Unsent(ClickBatch),
    /// It was sent, and no response came: only Redis knows what became of it.
    InDoubt {
        batch: ClickBatch,
        /// The epoch of the data set that it was sent to.
        epoch: Arc<str>,
        /// Whether the database keeps it, too: then a crash does not lose it.
        is_parked: bool,
    },
}

impl Delivery {
    /// Delivers for a new recorder.
    #[must_use]
    pub fn new(sinks: Sinks, memory_only: Arc<MemoryOnly>, clock: Arc<dyn Clock>) -> Self {
        Self {
            sinks: Arc::new(sinks),
            memory_only,
            clock,
            // The databases keep it as a signed number.
            recorder: random_id() >> 1,
            number: 0,
            outstanding: None,
            unacknowledged: None,
            buffered: Buffered::default(),
            redelivery: None,
        }
    }

    /// Delivers clicks within the deadlines of the sinks, unless links changed since those of the clicks were looked up.
    pub(super) async fn deliver(&mut self, gathered: GatheredClicks) -> Delivered {
        let GatheredClicks {
            clicks,
            mut version,
            ..
        } = gathered;
        if clicks.is_empty() {
            self.sinks.apply_link_changes().await;
            return Delivered::Counted;
        }
        let interval = Interval::of(self.clock.now());
        let (mut clicks, mut details) = sum_by_link(clicks);
        while let Some(LinkClicks { link: last, .. }) = clicks[..clicks.len().min(MAX_LINKS)].last()
        {
            let rest_of_details = details.split_after(*last);
            let rest = clicks.split_off(clicks.len().min(MAX_LINKS));
            let delivered = self.deliver_batch(interval, clicks, details, version);
            if delivered.await == Delivered::Overtaken {
                return Delivered::Overtaken;
            }
            // The first part is counted, so the rest has to be.
            version = None;
            (clicks, details) = (rest, rest_of_details);
        }
        Delivered::Counted
    }

    /// Delivers a batch; only at this version of the cache, if there is one.
    async fn deliver_batch(
        &mut self,
        interval: Interval,
        clicks: Vec<LinkClicks>,
        details: ClickDetails,
        version: Option<u64>,
    ) -> Delivered {
        let sinks = Arc::clone(&self.sinks);
        let batch = self.next_batch(interval, clicks, details);
        metrics::histogram!(BATCH_CLICKS).record(bounded(LinkClicks::total(&batch.clicks)));
        let mut in_doubt_in = None;
        if let Some(redis) = sinks.redis.as_ref().filter(|redis| self.can_use(redis)) {
            let known_change = version.map(|_| sinks.cache.newest_change(redis.shard()));
            if sinks.is_overtaken(version) {
                return Delivered::Overtaken;
            }
            let sent = Instant::now();
            match redis.record(&batch, known_change).await {
                Ok(cursor) => {
                    note_acknowledged("redis", sent);
                    sinks.catch_up_to(&cursor).await;
                    return Delivered::Counted;
                }
                Err(RecordError::Overtaken { newest }) => {
                    count_batch("redis", "overtaken");
                    sinks.catch_up_to(&newest).await;
                    return Delivered::Overtaken;
                }
                Err(RecordError::Refused) => count_batch("redis", "refused"),
                Err(RecordError::InDoubt { epoch }) => {
                    count_batch("redis", "in_doubt");
                    in_doubt_in = Some(epoch);
                }
            }
        }
        // No acknowledgement of Redis reports link changes: one of these links may just have been deleted.
        if in_doubt_in.is_some() {
            join(
                self.deliver_without_redis(batch, in_doubt_in),
                sinks.apply_link_changes(),
            )
            .await;
            return Delivered::Counted;
        }
        sinks.apply_link_changes().await;
        if sinks.is_overtaken(version) {
            return Delivered::Overtaken;
        }
        self.deliver_without_redis(batch, None).await;
        Delivered::Counted
    }

    /// Delivers a batch that Redis did not acknowledge; `in_doubt_in` is the epoch of Redis that may have it.
    async fn deliver_without_redis(&mut self, batch: ClickBatch, in_doubt_in: Option<Arc<str>>) {
        let sinks = Arc::clone(&self.sinks);
        if let Some(epoch) = in_doubt_in {
            let is_parked = self.can_use_journal()
                && sinks.append(&batch, Some(Arc::clone(&epoch))).await == Appended::Written;
            if !is_parked {
                self.memory_only.add(&batch.clicks);
            }
            self.in_doubt()
                .increment(bounded(LinkClicks::total(&batch.clicks)));
            self.outstanding = Some(Outstanding::InDoubt {
                batch,
                epoch,
                is_parked,
            });
        } else if !self.can_use_journal() {
            self.keep_in_memory(&batch);
        } else {
            match sinks.append(&batch, None).await {
                Appended::Written => {}
                Appended::NotSent => self.keep_in_memory(&batch),
                Appended::InDoubt => {
                    self.memory_only.add(&batch.clicks);
                    self.unacknowledged = Some(batch);
                }
            }
        }
    }

    /// Whether Redis may get a new batch: it must have an outstanding one first.
    fn can_use(&self, redis: &RedisSink) -> bool {
        redis.is_up() && self.outstanding.is_none()
    }

    /// Whether the journal may get a new batch: every older one is where it must be first.
    fn can_use_journal(&self) -> bool {
        self.unacknowledged.is_none()
            && self.buffered.is_empty()
            && matches!(
                self.outstanding,
                None | Some(Outstanding::InDoubt {
                    is_parked: true,
                    ..
                })
            )
    }

    fn keep_in_memory(&mut self, batch: &ClickBatch) {
        self.memory_only.add(&batch.clicks);
        self.buffered.add(batch);
    }

    fn next_batch(
        &mut self,
        interval: Interval,
        clicks: Vec<LinkClicks>,
        details: ClickDetails,
    ) -> ClickBatch {
        self.number += 1;
        ClickBatch {
            recorder: self.recorder,
            number: self.number,
            interval,
            clicks,
            details,
        }
    }

    /// Of the oldest interval; `None` if nothing is buffered.
    fn batch_of_buffered(&mut self) -> Option<ClickBatch> {
        let taken = self.buffered.take_oldest(MAX_LINKS)?;
        Some(self.next_batch(taken.interval, taken.clicks, taken.details))
    }

    /// Whether anything is in doubt or in memory.
    pub(super) fn needs_redelivery(&self) -> bool {
        self.outstanding.is_some() || !self.can_use_journal()
    }

    /// Whether clicks would be lost with this process. Those of a parked batch would not: any instance can settle it.
    pub(super) fn is_at_risk(&self) -> bool {
        !self.can_use_journal()
    }

    /// Makes one attempt to deliver what is in doubt or in memory. May be dropped at any time: the next call resumes the
    /// attempt.
    pub(super) async fn redeliver(&mut self) {
        if self.redelivery.is_none() {
            let (attempt, sinks) = (self.next_attempt(), Arc::clone(&self.sinks));
            // In a task of its own: its deadlines must not run out while this task is busy with batches.
            self.redelivery = Some(Handle::current().spawn(attempt.run(sinks)));
        }
        let Some(redelivery) = &mut self.redelivery else {
            return;
        };
        let redelivered = redelivery.await.ok().flatten();
        self.redelivery = None;
        if let Some(redelivered) = redelivered {
            self.note_redelivered(redelivered);
        }
    }

    /// Older numbers first: a sink takes every number that is not above its last one for applied.
    fn next_attempt(&mut self) -> Attempt {
        let redis_is_up = self.sinks.redis.as_ref().is_some_and(RedisSink::is_up);
        if redis_is_up && self.outstanding.is_none() {
            self.outstanding = self.batch_of_buffered().map(Outstanding::Unsent);
        }
        match &self.outstanding {
            Some(Outstanding::Unsent(batch)) if redis_is_up => {
                return Attempt::Record(batch.clone());
            }
            Some(Outstanding::InDoubt { batch, epoch, .. }) if redis_is_up => {
                let (batch, epoch) = (batch.clone(), Arc::clone(epoch));
                return Attempt::Settle { batch, epoch };
            }
            _ => {}
        }
        if let Some(batch) = &self.unacknowledged {
            return Attempt::AppendAgain(batch.clone());
        }
        if let Some(Outstanding::Unsent(batch)) = self.outstanding.take_if(is_unsent) {
            // Redis went away before the batch was sent to it: it may go to the journal instead.
            return self.first_append(batch);
        }
        if let Some(Outstanding::InDoubt {
            batch,
            epoch,
            is_parked: false,
        }) = &self.outstanding
        {
            let (batch, epoch) = (batch.clone(), Arc::clone(epoch));
            return Attempt::Park { batch, epoch };
        }
        match self.batch_of_buffered() {
            Some(batch) => self.first_append(batch),
            None => Attempt::Wait,
        }
    }

    fn first_append(&mut self, batch: ClickBatch) -> Attempt {
        self.unacknowledged = Some(batch.clone());
        Attempt::Append(batch)
    }

    /// Clicks in doubt in the shard of this delivery.
    fn in_doubt(&self) -> Gauge {
        let redis = self.sinks.redis.as_ref();
        gauge_of_shard(IN_DOUBT, redis.map_or(Shard::ONLY, RedisSink::shard))
    }

    fn note_redelivered(&mut self, redelivered: Redelivered) {
        match redelivered {
            Redelivered::InRedis => match self.outstanding.take() {
                Some(Outstanding::Unsent(batch)) => self.memory_only.remove(&batch.clicks),
                Some(Outstanding::InDoubt {
                    batch, is_parked, ..
                }) => {
                    self.in_doubt()
                        .decrement(bounded(LinkClicks::total(&batch.clicks)));
                    if !is_parked {
                        self.memory_only.remove(&batch.clicks);
                    }
                }
                None => {}
            },
            Redelivered::InDoubt { epoch } => {
                if let Some(Outstanding::Unsent(batch)) = self.outstanding.take_if(is_unsent) {
                    self.in_doubt()
                        .increment(bounded(LinkClicks::total(&batch.clicks)));
                    self.outstanding = Some(Outstanding::InDoubt {
                        batch,
                        epoch,
                        is_parked: false,
                    });
                }
            }
            Redelivered::Parked => {
                if let Some(Outstanding::InDoubt {
                    batch, is_parked, ..
                }) = &mut self.outstanding
                {
                    *is_parked = true;
                    self.memory_only.remove(&batch.clicks);
                }
            }
            Redelivered::InJournal => {
                if let Some(batch) = self.unacknowledged.take() {
                    self.memory_only.remove(&batch.clicks);
                }
            }
            Redelivered::NotSent => {
                if let Some(batch) = self.unacknowledged.take() {
                    self.buffered.add(&batch);
                }
            }
        }
    }
}

fn is_unsent(batch: &mut Outstanding) -> bool {
    matches!(batch, Outstanding::Unsent(_))
}
