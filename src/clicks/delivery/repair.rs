//! Delivering later: what is in doubt or held in memory, one step at a time.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::sleep;

use super::{Appended, Delivery, ForRedis, MOST_LINKS, Sinks, append_within, total};
use crate::clicks::redis_sink::settle;
use crate::clicks::{NotRecorded, RedisSink};
use crate::store::ClickBatch;
use crate::telemetry::metrics::{IN_DOUBT, bounded};

/// Pause between two tries to deliver what is held in memory.
const REPAIR_PAUSE: Duration = Duration::from_millis(100);

type Repairing = Pin<Box<dyn Future<Output = Option<Repaired>> + Send>>;

/// What a repair brought to its end.
pub(super) enum Repaired {
    Redis,
    InDoubt {
        epoch: Arc<str>,
    },
    Held,
    Journal,
    /// The batch for the journal was sent nowhere: it may as well go to Redis.
    NotSent,
}

impl Delivery {
    /// Does one step towards delivering what is in doubt or held in memory. May be dropped at any
    /// time: the step goes on at the next call.
    pub(in crate::clicks) async fn repaired(&mut self) {
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
            Some(Repaired::Redis) => match self.for_redis.take() {
                Some(ForRedis::Unsent(batch)) => self.no_longer_only_in_memory(&batch.clicks),
                Some(ForRedis::InDoubt { batch, is_held, .. }) => {
                    metrics::gauge!(IN_DOUBT).decrement(bounded(total(&batch.clicks)));
                    if !is_held {
                        self.no_longer_only_in_memory(&batch.clicks);
                    }
                }
                None => {}
            },
            Some(Repaired::InDoubt { epoch }) => {
                let is_unsent = |first: &mut ForRedis| matches!(first, ForRedis::Unsent(_));
                if let Some(ForRedis::Unsent(batch)) = self.for_redis.take_if(is_unsent) {
                    metrics::gauge!(IN_DOUBT).increment(bounded(total(&batch.clicks)));
                    self.for_redis = Some(ForRedis::InDoubt {
                        batch,
                        epoch,
                        is_held: false,
                    });
                }
            }
            Some(Repaired::Held) => {
                if let Some(ForRedis::InDoubt { batch, is_held, .. }) = &mut self.for_redis {
                    *is_held = true;
                    let clicks = batch.clicks.clone();
                    self.no_longer_only_in_memory(&clicks);
                }
            }
            Some(Repaired::Journal) => {
                if let Some(batch) = self.doubtful_in_journal.take() {
                    self.no_longer_only_in_memory(&batch.clicks);
                }
            }
            Some(Repaired::NotSent) => {
                if let Some(batch) = self.doubtful_in_journal.take() {
                    self.add_to_waiting(&batch.clicks);
                }
            }
            None => {}
        }
    }

    /// Older numbers first: a sink takes whatever is not above its last number for applied.
    fn next_step(&mut self) -> Repairing {
        let sinks = Arc::clone(&self.sinks);
        let may_use = |redis: &RedisSink| self.may_use(redis);
        if sinks.redis.as_ref().is_some_and(may_use) && !self.waiting.is_empty() {
            self.for_redis = Some(ForRedis::Unsent(self.batch_of_waiting()));
        }
        let redis_is_up = sinks.redis.as_ref().is_some_and(RedisSink::is_up);
        match &self.for_redis {
            Some(ForRedis::Unsent(batch)) if redis_is_up => {
                let batch = batch.clone();
                return Box::pin(async move { send_to_redis(&sinks, &batch).await });
            }
            Some(ForRedis::InDoubt { batch, epoch, .. }) if redis_is_up => {
                let (batch, epoch) = (batch.clone(), Arc::clone(epoch));
                return Box::pin(async move { send_to_redis_again(&sinks, &batch, &epoch).await });
            }
            _ => {}
        }
        if let Some(batch) = self.doubtful_in_journal.clone() {
            return Box::pin(
                async move { append_again(&sinks, &batch, None, Repaired::Journal).await },
            );
        }
        match self.for_redis.take() {
            // Redis went away before it was sent there: it may as well go to the journal.
            Some(ForRedis::Unsent(batch)) => {
                self.doubtful_in_journal = Some(batch.clone());
                return Box::pin(async move { append_first(&sinks, &batch).await });
            }
            in_doubt => self.for_redis = in_doubt,
        }
        if let Some(ForRedis::InDoubt {
            batch,
            epoch,
            is_held: false,
        }) = &self.for_redis
        {
            let (batch, epoch) = (batch.clone(), Some(Arc::clone(epoch)));
            return Box::pin(
                async move { append_again(&sinks, &batch, epoch, Repaired::Held).await },
            );
        }
        if !self.waiting.is_empty() {
            let batch = self.batch_of_waiting();
            self.doubtful_in_journal = Some(batch.clone());
            return Box::pin(async move { append_first(&sinks, &batch).await });
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

async fn append_again(
    sinks: &Sinks,
    batch: &ClickBatch,
    sent_to: Option<Arc<str>>,
    done: Repaired,
) -> Option<Repaired> {
    // Nobody waits for it.
    let deadline = sinks.deadline.while_it_answers;
    if append_within(deadline, sinks, batch, sent_to).await == Appended::Written {
        return Some(done);
    }
    sleep(REPAIR_PAUSE).await;
    None
}

/// Writes a batch that was sent nowhere yet.
async fn append_first(sinks: &Sinks, batch: &ClickBatch) -> Option<Repaired> {
    let appended = append_within(sinks.deadline.while_it_answers, sinks, batch, None).await;
    if appended == Appended::Written {
        return Some(Repaired::Journal);
    }
    sleep(REPAIR_PAUSE).await;
    (appended == Appended::NotSent).then_some(Repaired::NotSent)
}

/// Sends a batch that was sent nowhere yet.
async fn send_to_redis(sinks: &Sinks, batch: &ClickBatch) -> Option<Repaired> {
    match sinks.redis.as_ref()?.record(batch).await {
        Ok(observed) => {
            sinks.cache.observe(&observed).await;
            Some(Repaired::Redis)
        }
        Err(NotRecorded::InDoubt { epoch }) => Some(Repaired::InDoubt { epoch }),
        Err(NotRecorded::Refused) => {
            sleep(REPAIR_PAUSE).await;
            None
        }
    }
}

/// Redis applies the batch or knows it already; either way it is no longer in doubt.
async fn send_to_redis_again(sinks: &Sinks, batch: &ClickBatch, epoch: &str) -> Option<Repaired> {
    let redis = sinks.redis.as_ref()?;
    if settle(redis, batch, epoch, &sinks.cache).await.is_err() {
        sleep(REPAIR_PAUSE).await;
        return None;
    }
    let clicks = Arc::clone(&sinks.clicks);
    let (recorder, number) = (batch.recorder, batch.number);
    // Should this fail, whoever settles held batches next finds that Redis knows it.
    sinks.spawn(async move { clicks.release_held(recorder, number).await });
    Some(Repaired::Redis)
}
