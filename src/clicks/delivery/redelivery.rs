//! Delivering later: what is in doubt or held in memory, one step at a time.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::sleep;

use super::{Appended, Delivery, ForRedis, MOST_LINKS, Sinks, append_within, total};
use crate::clicks::redis_sink::settle;
use crate::clicks::{RecordError, RedisSink};
use crate::store::ClickBatch;
use crate::telemetry::metrics::{IN_DOUBT, bounded};

/// Pause between two tries to deliver what is held in memory.
const REPAIR_PAUSE: Duration = Duration::from_millis(100);

/// What brings a batch that is in doubt or held in memory further.
enum Step {
    ToRedis(ClickBatch),
    /// Redis applies it, or knows it already.
    ToRedisAgain {
        batch: ClickBatch,
        epoch: Arc<str>,
    },
    ToJournal(ClickBatch),
    ToJournalAgain(ClickBatch),
    /// Has the database hold what only Redis can settle.
    Hold {
        batch: ClickBatch,
        epoch: Arc<str>,
    },
    Wait,
}

/// What a repair brought to its end.
pub(super) enum Redelivered {
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
            let (step, sinks) = (self.next_step(), Arc::clone(&self.sinks));
            // A task of its own: its deadlines must not run out while this one is busy with batches.
            self.repair = Some(Handle::current().spawn(step.done(sinks)));
        }
        let Some(repair) = &mut self.repair else {
            return;
        };
        let repaired = repair.await.ok().flatten();
        self.repair = None;
        if let Some(repaired) = repaired {
            self.take_note(repaired);
        }
    }

    /// Older numbers first: a sink takes whatever is not above its last number for applied.
    fn next_step(&mut self) -> Step {
        let redis_is_up = self.sinks.redis.as_ref().is_some_and(RedisSink::is_up);
        if redis_is_up && self.for_redis.is_none() && !self.waiting.is_empty() {
            self.for_redis = Some(ForRedis::Unsent(self.batch_of_waiting()));
        }
        match &self.for_redis {
            Some(ForRedis::Unsent(batch)) if redis_is_up => return Step::ToRedis(batch.clone()),
            Some(ForRedis::InDoubt { batch, epoch, .. }) if redis_is_up => {
                let (batch, epoch) = (batch.clone(), Arc::clone(epoch));
                return Step::ToRedisAgain { batch, epoch };
            }
            _ => {}
        }
        if let Some(batch) = &self.doubtful_in_journal {
            return Step::ToJournalAgain(batch.clone());
        }
        if let Some(ForRedis::Unsent(batch)) = self.for_redis.take_if(is_unsent) {
            // Redis went away before it was sent there: it may as well go to the journal.
            return self.append_next(batch);
        }
        if let Some(ForRedis::InDoubt {
            batch,
            epoch,
            is_parked: false,
        }) = &self.for_redis
        {
            let (batch, epoch) = (batch.clone(), Arc::clone(epoch));
            return Step::Hold { batch, epoch };
        }
        if self.waiting.is_empty() {
            return Step::Wait;
        }
        let batch = self.batch_of_waiting();
        self.append_next(batch)
    }

    /// Of a batch that was sent nowhere yet.
    fn append_next(&mut self, batch: ClickBatch) -> Step {
        self.doubtful_in_journal = Some(batch.clone());
        Step::ToJournal(batch)
    }

    fn take_note(&mut self, repaired: Redelivered) {
        match repaired {
            Redelivered::Redis => match self.for_redis.take() {
                Some(ForRedis::Unsent(batch)) => self.no_longer_only_in_memory(&batch.clicks),
                Some(ForRedis::InDoubt {
                    batch, is_parked, ..
                }) => {
                    metrics::gauge!(IN_DOUBT).decrement(bounded(total(&batch.clicks)));
                    if !is_parked {
                        self.no_longer_only_in_memory(&batch.clicks);
                    }
                }
                None => {}
            },
            Redelivered::InDoubt { epoch } => {
                if let Some(ForRedis::Unsent(batch)) = self.for_redis.take_if(is_unsent) {
                    metrics::gauge!(IN_DOUBT).increment(bounded(total(&batch.clicks)));
                    self.for_redis = Some(ForRedis::InDoubt {
                        batch,
                        epoch,
                        is_parked: false,
                    });
                }
            }
            Redelivered::Held => {
                if let Some(ForRedis::InDoubt {
                    batch, is_parked, ..
                }) = &mut self.for_redis
                {
                    *is_parked = true;
                    let clicks = batch.clicks.clone();
                    self.no_longer_only_in_memory(&clicks);
                }
            }
            Redelivered::Journal => {
                if let Some(batch) = self.doubtful_in_journal.take() {
                    self.no_longer_only_in_memory(&batch.clicks);
                }
            }
            Redelivered::NotSent => {
                if let Some(batch) = self.doubtful_in_journal.take() {
                    self.add_to_waiting(&batch.clicks);
                }
            }
        }
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

fn is_unsent(batch: &mut ForRedis) -> bool {
    matches!(batch, ForRedis::Unsent(_))
}

impl Step {
    /// What it brought to its end, if anything. What did not get further is tried again after a pause.
    async fn done(self, sinks: Arc<Sinks>) -> Option<Redelivered> {
        let repaired = match &self {
            Self::ToRedis(batch) => send_to_redis(&sinks, batch).await,
            Self::ToRedisAgain { batch, epoch } => send_to_redis_again(&sinks, batch, epoch).await,
            Self::ToJournal(batch) => match append(&sinks, batch, None).await {
                Appended::Written => Some(Redelivered::Journal),
                Appended::NotSent => Some(Redelivered::NotSent),
                Appended::InDoubt => None,
            },
            // Whether there was a connection this time says nothing of the times before.
            Self::ToJournalAgain(batch) => (append(&sinks, batch, None).await == Appended::Written)
                .then_some(Redelivered::Journal),
            Self::Hold { batch, epoch } => {
                let epoch = Some(Arc::clone(epoch));
                (append(&sinks, batch, epoch).await == Appended::Written)
                    .then_some(Redelivered::Held)
            }
            Self::Wait => None,
        };
        if matches!(repaired, None | Some(Redelivered::NotSent)) {
            sleep(REPAIR_PAUSE).await;
        }
        repaired
    }
}

/// Writes to the journal, with all the time that it may take: nobody waits for it.
async fn append(sinks: &Sinks, batch: &ClickBatch, sent_to: Option<Arc<str>>) -> Appended {
    append_within(sinks.deadline.while_it_answers, sinks, batch, sent_to).await
}

/// Sends a batch that was sent nowhere yet.
async fn send_to_redis(sinks: &Sinks, batch: &ClickBatch) -> Option<Redelivered> {
    match sinks.redis.as_ref()?.record(batch).await {
        Ok(observed) => {
            sinks.cache.catch_up_to(&observed).await;
            Some(Redelivered::Redis)
        }
        Err(RecordError::InDoubt { epoch }) => Some(Redelivered::InDoubt { epoch }),
        Err(RecordError::Refused) => None,
    }
}

/// Redis applies the batch or knows it already; either way it is no longer in doubt.
async fn send_to_redis_again(
    sinks: &Sinks,
    batch: &ClickBatch,
    epoch: &str,
) -> Option<Redelivered> {
    let redis = sinks.redis.as_ref()?;
    settle(redis, batch, epoch, &sinks.cache).await.ok()?;
    let clicks = Arc::clone(&sinks.clicks);
    let (recorder, number) = (batch.recorder, batch.number);
    // Should this fail, whoever settles held batches next finds that Redis knows it.
    sinks.spawn(async move { clicks.release_parked(recorder, number).await });
    Some(Redelivered::Redis)
}
