//! Delivering later: what is in doubt or held in memory, one step at a time.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::sleep;

use super::{Delivery, Doubtful, MOST_LINKS, Sinks, append_within, total};
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
    InDoubt { epoch: Arc<str> },
    Held,
    Journal,
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

async fn append_again(
    sinks: &Sinks,
    batch: &ClickBatch,
    sent_to: Option<Arc<str>>,
    done: Repaired,
) -> Option<Repaired> {
    // Nobody waits for it.
    let deadline = sinks.deadline.while_it_answers;
    if append_within(deadline, sinks, batch, sent_to).await {
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
    sinks.spawn(async move { clicks.release_held(recorder, number).await });
    Some(Repaired::Redis)
}
