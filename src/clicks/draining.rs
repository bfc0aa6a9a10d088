//! Draining of data sets that are given up, because the settings or the division of the data have changed: what is
//! pending or under flush in them is written back, and parked batches for them are settled before.
//!
//! No instance may use them meanwhile. One that does is noticed by its lease on flushing.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;

use crate::cache::LinkCache;
use crate::clicks::redis_sink::settle_where;
use crate::clicks::{FlushError, Flusher, RecoveryError, RedisSink, SettleError, recover};
use crate::domain::Clock;
use crate::shared_redis::{RedisFailure, RedisShard, RedisShards, scripts};
use crate::store::{ParkedBatch, Store};

/// How often a data set is written back that gets new clicks meanwhile: those of settled batches, and of a flush that an
/// instance had left unfinished.
const MAX_ROUNDS: usize = 10;

/// How long one command may take.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Why data sets are not given up yet.
#[derive(Debug, thiserror::Error)]
pub enum DrainError {
    /// A data set cannot be used.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    /// It could not be written back.
    #[error(transparent)]
    Flush(#[from] FlushError),
    /// Parked batches could not be settled.
    #[error(transparent)]
    Settle(#[from] SettleError),
    /// Redis is away.
    #[error(transparent)]
    Redis(#[from] RedisFailure),
    /// Another instance has the lease, or clicks go on coming.
    #[error("other instances still use {0}; stop them all first")]
    InUse(String),
}

/// What data sets are drained into, and what that needs.
pub struct Drain<'a> {
    /// The database that gets the clicks.
    pub store: &'a Store,
    /// A cache of its own: that of the service follows the changes of configured data sets alone.
    pub cache: LinkCache,
    /// Tells the time.
    pub clock: &'a Arc<dyn Clock>,
}

impl Drain<'_> {
    /// Writes back all clicks in those of the data sets with these tags that the servers of `configured` have, and removes
    /// them. May be stopped and repeated at any point.
    ///
    /// # Errors
    /// [`DrainError`]; what is left is drained later.
    pub async fn drain(
        &self,
        configured: &RedisShard,
        tags: impl Iterator<Item = String>,
    ) -> Result<(), DrainError> {
        let former: Vec<_> = tags.map(|tag| configured.with_tag(&tag)).collect();
        let exist = try_join_all(former.iter().map(RedisShard::exists)).await;
        let exist = exist.map_err(RecoveryError::from)?;
        // One after the other: two instances that drain at once do not hold up each other.
        for (redis, exists) in former.iter().zip(exist) {
            if exists {
                self.drain_one(redis).await?;
            }
        }
        Ok(())
    }

    async fn drain_one(&self, redis: &RedisShard) -> Result<(), DrainError> {
        recover(redis, self.store).await?;
        redis.recovered();
        let this = RedisShards::of(redis.clone());
        let flusher = Flusher::new(Some(this), self.store.clone(), Arc::clone(self.clock));
        let emptied = self.empty(redis, &flusher).await;
        if let Err(error) = flusher.release().await {
            tracing::debug!(%error, "the lease on flushing is left to expire");
        }
        emptied?;
        tracing::info!(
            data_set = redis.keys().tag(),
            "a former data set is written back and removed"
        );
        Ok(())
    }

    async fn empty(&self, redis: &RedisShard, flusher: &Flusher) -> Result<(), DrainError> {
        let (sink, tag) = (RedisSink::new(redis), redis.keys().tag());
        for _ in 0..MAX_ROUNDS {
            let outcome = flusher.flush().await;
            if let Some(failure) = outcome.failure {
                return Err(failure.into());
            }
            if outcome.is_waiting {
                // No instance runs that would merge.
                flusher.merge_clicks().await.map_err(FlushError::from)?;
                continue;
            }
            if outcome.done.is_empty() {
                break;
            }
            // Since the data set is recovered, the ledger knows the tag of its epoch.
            let is_its_own = |parked: &ParkedBatch| parked.tag.as_deref() == Some(tag);
            let settled = settle_where(&sink, is_its_own, self.store, &self.cache).await?;
            if settled == 0 && remove(redis).await? {
                return Ok(());
            }
        }
        Err(DrainError::InUse(tag.to_owned()))
    }
}

/// Removes the data set; `false` while it has clicks. Its cached links expire: no later generation takes them for its own.
async fn remove(redis: &RedisShard) -> Result<bool, RedisFailure> {
    let keys = redis.keys();
    let (state, pending, flushing) = (keys.state(), keys.pending(), keys.flushing());
    let (recorders, changes, flusher) = (keys.recorders(), keys.changes(), keys.flusher());
    let (intervals, details) = (keys.intervals(), keys.details());
    let all = [
        &state, &pending, &flushing, &recorders, &changes, &flusher, &intervals, &details,
    ];
    let mut call = scripts::REMOVE_DATA_SET.call(&all.map(String::as_str));
    call.arg(redis.term()?.number);
    redis.query(&call, TIMEOUT).await
}
