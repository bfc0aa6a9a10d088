//! The Redis sink: one script call per batch, applied once.

use std::sync::Arc;
use std::time::Instant;

use crate::cache::{InvalidationCursor, LinkCache};
use crate::domain::Shard;
use crate::redis::{DedicatedConnection, RedisFailure, RedisShard, scripts};
use crate::store::{ClickBatch, Clicks, ParkedBatch, StoreError};
use crate::telemetry::metrics::CLICKS_DROPPED;

/// Epochs that a batch is offered to: Redis is not emptied all the time.
const EPOCHS: usize = 3;

/// Applies batches to the pending hash, over a connection of its own.
pub struct RedisSink {
    redis: RedisShard,
    connection: DedicatedConnection,
    keys: [String; 3],
}

impl RedisSink {
    /// A sink with a connection of its own, made when first used.
    #[must_use]
    pub fn new(redis: &RedisShard) -> Self {
        let names = redis.keys();
        Self {
            redis: redis.clone(),
            connection: redis.dedicated_connection(),
            keys: [names.state(), names.recorders(), names.pending()],
        }
    }

    /// To which data set.
    #[must_use]
    pub fn shard(&self) -> Shard {
        self.redis.shard()
    }

    /// Whether batches are worth sending.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.redis.is_up()
    }

    /// Whether it can at least be asked where link changes stand: a full one can.
    #[must_use]
    pub fn is_reachable(&self) -> bool {
        self.redis.is_reachable()
    }

    /// Applies a batch that was sent nowhere yet within the deadline of the handle, and says where link
    /// changes stand.
    ///
    /// # Errors
    /// [`RecordError`].
    pub async fn record(&self, batch: &ClickBatch) -> Result<InvalidationCursor, RecordError> {
        for _ in 0..EPOCHS {
            let epoch = self.redis.epoch();
            match self.apply(batch, &epoch).await {
                Ok(Applied::InEpoch(observed)) => return Ok(observed),
                // Nothing was done: Redis was emptied, and this batch is for the new data set.
                Ok(Applied::OtherEpoch(observed)) => self.redis.learn_epoch(&observed.epoch),
                Err(RedisFailure::Refused(_) | RedisFailure::Full(_)) => {
                    return Err(RecordError::Refused);
                }
                Err(RedisFailure::NoAnswer(_)) => return Err(RecordError::InDoubt { epoch }),
            }
        }
        Err(RecordError::Refused)
    }

    /// Applies a batch once (rule 2 in [`crate::clicks`]) to the data set of one epoch (rule 7).
    ///
    /// # Errors
    /// [`RedisFailure::Refused`], [`RedisFailure::Full`]: it was not applied. [`RedisFailure::NoAnswer`]: it is in doubt.
    pub async fn apply(&self, batch: &ClickBatch, epoch: &str) -> Result<Applied, RedisFailure> {
        let [state, recorders, pending] = &self.keys;
        let mut call = scripts::RECORD_CLICKS.call(&[state, recorders, pending]);
        call.arg(self.redis.process())
            .arg(self.redis.now().micros())
            .arg(batch.recorder)
            .arg(batch.number)
            .arg(epoch);
        for (link, _) in &batch.clicks {
            call.arg(link.number());
        }
        for (_, clicks) in &batch.clicks {
            call.arg(*clicks);
        }
        let asked = Instant::now();
        let answer = self.connection.query_noting_resend(&call).await?;
        let (found, change): (String, i64) = answer.value;
        let applied = if found == epoch {
            Applied::InEpoch
        } else if answer.was_resent {
            let why = "its data set was another when the batch was sent again";
            return Err(RedisFailure::NoAnswer(why.into()));
        } else {
            Applied::OtherEpoch
        };
        Ok(applied(InvalidationCursor {
            shard: self.shard(),
            epoch: found,
            change,
            asked,
        }))
    }
}

/// What became of a batch, and where link changes stand.
pub enum Applied {
    /// It is applied.
    InEpoch(InvalidationCursor),
    /// The data set is in another epoch: nothing was done.
    OtherEpoch(InvalidationCursor),
}

/// Why a batch is not in Redis for sure.
#[derive(Debug)]
pub enum RecordError {
    /// It was not applied.
    Refused,
    /// It may have been.
    InDoubt {
        /// To which data set it was sent.
        epoch: Arc<str>,
    },
}

/// Why held batches could not be settled.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    /// Redis cannot be asked.
    #[error(transparent)]
    Redis(#[from] RedisFailure),
    /// The database cannot be asked.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Held batches settled in one go.
const SETTLE_AT_ONCE: u32 = 100;

/// Sends batches that are held in the database to the shards of `sinks`, which apply those they do not know,
/// and removes them. Anybody may do so at any time, as often as they like. Returns how many it settled; with none,
/// none is left for these shards, however many are held for others.
///
/// # Errors
/// When a shard or the database is away; what is left is settled later.
pub async fn settle_parked<'a>(
    sinks: impl Iterator<Item = &'a RedisSink> + Clone,
    clicks: &dyn Clicks,
    cache: &LinkCache,
) -> Result<usize, SettleError> {
    let mut after = None;
    loop {
        let page = clicks.parked(after, SETTLE_AT_ONCE).await?;
        let is_last = page.len() < SETTLE_AT_ONCE as usize;
        let mut settled = 0;
        let mut outcome = Ok(());
        for ParkedBatch { batch, epoch } in page {
            after = Some((batch.recorder, batch.number));
            let shard = Shard::of_epoch(&epoch);
            let Some(sink) = sinks.clone().find(|sink| sink.shard() == shard) else {
                continue;
            };
            match settle(sink, &batch, &epoch, cache).await {
                Ok(()) => {
                    clicks.release_parked(batch.recorder, batch.number).await?;
                    settled += 1;
                }
                // Others may be settled all the same.
                Err(failure) => outcome = Err(failure),
            }
        }
        outcome?;
        if is_last || settled > 0 {
            return Ok(settled);
        }
    }
}

/// Sends a batch in doubt again. Where the data set that it was sent to is gone, it may have been counted
/// before that: then it is dropped.
pub(super) async fn settle(
    sink: &RedisSink,
    batch: &ClickBatch,
    epoch: &str,
    cache: &LinkCache,
) -> Result<(), RedisFailure> {
    let observed = match sink.apply(batch, epoch).await? {
        Applied::InEpoch(observed) => observed,
        Applied::OtherEpoch(observed) => {
            let clicks: u64 = batch.clicks.iter().map(|(_, clicks)| clicks).sum();
            metrics::counter!(CLICKS_DROPPED).increment(clicks);
            tracing::error!(
                clicks,
                "clicks in doubt are dropped: the Redis data set that they were sent to is gone"
            );
            observed
        }
    };
    cache.catch_up_to(&observed).await;
    Ok(())
}
