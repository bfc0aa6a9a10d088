//! The Redis sink: one script call per batch, applied once.

use std::sync::LazyLock;

use crate::cache::{LinkCache, Observed};
use crate::domain::Timestamp;
use crate::shared::{Lane, RedisFailure, Script, SharedRedis};
use crate::store::{ClickBatch, Clicks, StoreError};

static RECORD: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        include_str!("../state.lua"),
        include_str!("record.lua")
    ))
});

/// Applies batches to the pending hash, over a connection of its own.
pub struct RedisSink {
    redis: SharedRedis,
    lane: Lane,
    keys: [String; 3],
}

impl RedisSink {
    /// A sink with a connection of its own, made when first used.
    #[must_use]
    pub fn new(redis: &SharedRedis) -> Self {
        let names = redis.keys();
        Self {
            redis: redis.clone(),
            lane: redis.lane(),
            keys: [names.state(), names.recorders(), names.pending()],
        }
    }

    /// Whether batches are worth sending.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.redis.is_up()
    }

    /// Applies a batch once (rule 2 in [`crate::clicks`]) within the deadline of the handle, and says
    /// where link changes stand. An empty batch changes nothing but the recorder's number.
    ///
    /// # Errors
    /// [`RedisFailure::Refused`]: it was not applied. [`RedisFailure::NoAnswer`]: it is in doubt.
    pub async fn apply(&self, batch: &ClickBatch) -> Result<Observed, RedisFailure> {
        let [state, recorders, pending] = &self.keys;
        let mut call = RECORD.call(&[state, recorders, pending]);
        call.arg(self.redis.epoch())
            .arg(Timestamp::now().0)
            .arg(batch.recorder)
            .arg(batch.number);
        for (link, clicks) in &batch.clicks {
            call.arg(link.0).arg(*clicks);
        }
        let (epoch, change) = self.lane.query(&call).await?;
        Ok(Observed { epoch, change })
    }
}

/// Why held batches could not be settled.
#[derive(Debug, thiserror::Error)]
pub enum SettleFailure {
    /// Redis cannot be asked.
    #[error(transparent)]
    Redis(#[from] RedisFailure),
    /// The database cannot be asked.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Held batches settled in one go.
const SETTLE_AT_ONCE: u32 = 100;

/// Sends batches that are held in the database to Redis, which applies those it does not know, and
/// removes them. Anybody may do so at any time, as often as they like.
///
/// # Errors
/// When Redis or the database is away; what is left is settled later.
pub async fn settle_held(
    sink: &RedisSink,
    clicks: &dyn Clicks,
    cache: &LinkCache,
) -> Result<(), SettleFailure> {
    for batch in clicks.held(SETTLE_AT_ONCE).await? {
        let observed = sink.apply(&batch).await?;
        cache.observe(&observed).await;
        clicks.release_held(batch.recorder, batch.number).await?;
    }
    Ok(())
}
