//! One attempt to deliver what is in doubt or in memory.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::clicks::RecordError;
use crate::clicks::redis_sink::settle;
use crate::clicks::sinks::{Appended, Sinks};
use crate::store::ClickBatch;

/// Pause after an attempt that failed.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// What is attempted next.
pub(super) enum Attempt {
    /// Sends a batch to Redis for the first time.
    Record(ClickBatch),
    /// Sends a batch in doubt to Redis again, which applies it or knows it already.
    Settle { batch: ClickBatch, epoch: Arc<str> },
    /// Writes a batch to the journal for the first time.
    Append(ClickBatch),
    /// Writes a batch to the journal that may be there already.
    AppendAgain(ClickBatch),
    /// Has the database keep a batch that only Redis can settle.
    Park { batch: ClickBatch, epoch: Arc<str> },
    /// Nothing can be attempted now.
    Wait,
}

/// What an attempt achieved.
pub(super) enum Redelivered {
    /// Redis has the batch.
    InRedis,
    /// Redis may have the batch, in this epoch.
    InDoubt { epoch: Arc<str> },
    /// The database keeps the batch, which stays in doubt.
    Parked,
    /// The journal has the batch.
    InJournal,
    /// The batch for the journal was not sent: it may go to Redis instead.
    NotSent,
}

impl Attempt {
    /// Does it. `None` if it achieved nothing; the caller tries again. Pauses after a failure.
    pub(super) async fn run(self, sinks: Arc<Sinks>) -> Option<Redelivered> {
        let outcome = match &self {
            Self::Record(batch) => record(&sinks, batch).await,
            Self::Settle { batch, epoch } => settle_again(&sinks, batch, epoch).await,
            Self::Append(batch) => match sinks.append_in_background(batch, None).await {
                Appended::Written => Some(Redelivered::InJournal),
                Appended::NotSent => Some(Redelivered::NotSent),
                Appended::InDoubt => None,
            },
            // A missing connection this time does not mean that the times before failed.
            Self::AppendAgain(batch) => (sinks.append_in_background(batch, None).await
                == Appended::Written)
                .then_some(Redelivered::InJournal),
            Self::Park { batch, epoch } => {
                let epoch = Some(Arc::clone(epoch));
                (sinks.append_in_background(batch, epoch).await == Appended::Written)
                    .then_some(Redelivered::Parked)
            }
            Self::Wait => None,
        };
        if matches!(outcome, None | Some(Redelivered::NotSent)) {
            sleep(RETRY_PAUSE).await;
        }
        outcome
    }
}

async fn record(sinks: &Sinks, batch: &ClickBatch) -> Option<Redelivered> {
    match sinks.redis.as_ref()?.record(batch, None).await {
        Ok(cursor) => {
            sinks.cache.catch_up_to(&cursor).await;
            Some(Redelivered::InRedis)
        }
        Err(RecordError::InDoubt { epoch }) => Some(Redelivered::InDoubt { epoch }),
        Err(RecordError::Refused | RecordError::Overtaken { .. }) => None,
    }
}

async fn settle_again(sinks: &Sinks, batch: &ClickBatch, epoch: &str) -> Option<Redelivered> {
    let redis = sinks.redis.as_ref()?;
    settle(redis, batch, epoch, &sinks.store, &sinks.cache)
        .await
        .ok()?;
    let clicks = Arc::clone(&sinks.store.clicks);
    let (recorder, number) = (batch.recorder, batch.number);
    // If this fails, a later settling of parked batches finds that Redis knows this one.
    sinks.spawn(async move { clicks.release_parked(recorder, number).await });
    Some(Redelivered::InRedis)
}
