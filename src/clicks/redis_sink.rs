//! Redis as a sink of batches: one script call applies a batch once.

use std::sync::Arc;
use std::time::Instant;

use crate::cache::{InvalidationCursor, LinkCache};
use crate::domain::Shard;
use crate::redis::{DedicatedConnection, RedisFailure, RedisShard, scripts};
use crate::store::{ClickBatch, Clicks, ParkedBatch, StoreError};
use crate::telemetry::metrics::CLICKS_DROPPED;

/// To how many epochs a batch is sent before it goes elsewhere: data is not lost again and again.
const MAX_EPOCHS: usize = 3;

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

    /// The shard whose clicks it takes.
    #[must_use]
    pub fn shard(&self) -> Shard {
        self.redis.shard()
    }

    /// Whether batches are worth sending.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.redis.is_up()
    }

    /// Whether it can at least report link changes: a full Redis can.
    #[must_use]
    pub fn is_reachable(&self) -> bool {
        self.redis.is_reachable()
    }

    /// Applies a batch that was not sent before, within the deadline of the handle. Returns the newest link change.
    ///
    /// # Errors
    /// [`RecordError`].
    pub async fn record(&self, batch: &ClickBatch) -> Result<InvalidationCursor, RecordError> {
        for _ in 0..MAX_EPOCHS {
            let epoch = self.redis.epoch();
            match self.apply(batch, &epoch).await {
                Ok(Applied::InEpoch(cursor)) => return Ok(cursor),
                // Not applied: Redis lost its data, and the batch goes to the new epoch.
                Ok(Applied::OtherEpoch(cursor)) => self.redis.learn_epoch(&cursor.epoch),
                Err(RedisFailure::Refused(_) | RedisFailure::Full(_)) => {
                    return Err(RecordError::Refused);
                }
                Err(RedisFailure::NoAnswer(_)) => return Err(RecordError::InDoubt { epoch }),
            }
        }
        Err(RecordError::Refused)
    }

    /// Applies a batch once (rule 2 in [`crate::clicks`]), in one epoch (rule 8).
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
        let response = self.connection.query_noting_resend(&call).await?;
        let (found, change): (String, i64) = response.value;
        let applied = if found == epoch {
            Applied::InEpoch
        } else if response.was_resent {
            let why = "its epoch had changed when the batch was sent again";
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

/// What became of a batch, and the newest link change.
pub enum Applied {
    /// It is applied.
    InEpoch(InvalidationCursor),
    /// The data set is in another epoch: the batch was not applied.
    OtherEpoch(InvalidationCursor),
}

/// Why a batch may not be in Redis.
#[derive(Debug)]
pub enum RecordError {
    /// It was not applied.
    Refused,
    /// It may have been.
    InDoubt {
        /// The epoch that it was sent to.
        epoch: Arc<str>,
    },
}

/// Why parked batches could not be settled.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    /// Redis is away.
    #[error(transparent)]
    Redis(#[from] RedisFailure),
    /// The database is away.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How many parked batches are read at once.
const SETTLE_PAGE: u32 = 100;

/// Sends parked batches to the shard of `sink`, which applies those that it does not know, and removes them from the
/// database. Any instance may do so at any time. Returns the number of batches; 0 means that none is parked for this
/// shard.
///
/// # Errors
/// When the shard or the database is away; the batches that are left are settled later.
pub async fn settle_parked(
    sink: &RedisSink,
    clicks: &dyn Clicks,
    cache: &LinkCache,
) -> Result<usize, SettleError> {
    let is_of_shard = |epoch: &str| Shard::of_epoch(epoch) == sink.shard();
    settle_where(sink, is_of_shard, clicks, cache).await
}

/// The same for the batches of those epochs for which `is_its_own` holds.
pub(super) async fn settle_where(
    sink: &RedisSink,
    is_its_own: impl Fn(&str) -> bool,
    clicks: &dyn Clicks,
    cache: &LinkCache,
) -> Result<usize, SettleError> {
    let mut after = None;
    loop {
        let page = clicks.parked(after, SETTLE_PAGE).await?;
        let is_last = page.len() < SETTLE_PAGE as usize;
        let mut settled = 0;
        for ParkedBatch { batch, epoch } in page {
            after = Some((batch.recorder, batch.number));
            if !is_its_own(&epoch) {
                continue;
            }
            settle(sink, &batch, &epoch, cache).await?;
            clicks.release_parked(batch.recorder, batch.number).await?;
            settled += 1;
        }
        if is_last || settled > 0 {
            return Ok(settled);
        }
    }
}

/// Sends a batch in doubt again. If its epoch has ended, the batch may have been counted in it, and is dropped (rule 8).
pub(super) async fn settle(
    sink: &RedisSink,
    batch: &ClickBatch,
    epoch: &str,
    cache: &LinkCache,
) -> Result<(), RedisFailure> {
    let cursor = match sink.apply(batch, epoch).await? {
        Applied::InEpoch(cursor) => cursor,
        Applied::OtherEpoch(cursor) => {
            let clicks: u64 = batch.clicks.iter().map(|(_, clicks)| clicks).sum();
            metrics::counter!(CLICKS_DROPPED).increment(clicks);
            tracing::error!(
                clicks,
                "clicks in doubt are dropped: the Redis data set that they were sent to is gone"
            );
            cursor
        }
    };
    cache.catch_up_to(&cursor).await;
    Ok(())
}
