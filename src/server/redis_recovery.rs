//! Recovering a shard of Redis: what must happen before it is used, at the start and each time that it comes back.

use std::time::Duration;

use tokio::time::timeout;

use crate::cache::{CacheError, LinkCache};
use crate::clicks::{Ledger, RecoveryError, recover};
use crate::domain::Shard;
use crate::links::{OutboxError, publish_pending};
use crate::shared_redis::RedisShard;
use crate::store::{Store, StoreError};

/// How long a shard that came back waits for the changes that were not published in it.
const PUBLISHING_TIMEOUT: Duration = Duration::from_millis(1_500);

/// Recovers shards; cheap to clone.
#[derive(Clone)]
pub(super) struct RedisRecovery {
    store: Store,
    cache: LinkCache,
}

/// Why a shard is not used yet.
#[derive(Debug, thiserror::Error)]
pub(super) enum RecoverShardError {
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    #[error("changes of links could not be published: {0}")]
    Unpublished(#[from] CacheError),
}

impl RedisRecovery {
    pub(super) fn new(store: &Store, cache: &LinkCache) -> Self {
        Self {
            store: store.clone(),
            cache: cache.clone(),
        }
    }

    /// Checks a shard and opens it to all parts of this instance. It may have links that were deleted while it was
    /// away, so pending changes are published in it first. If the database cannot say at once which these are, the instance
    /// publishes the changes that it knows: its own, and those that it read in the database meanwhile. One that starts knows
    /// none, so every link that is cached becomes a miss.
    pub(super) async fn recover(&self, redis: &RedisShard) -> Result<(), RecoverShardError> {
        let is_starting = !redis.has_been_up();
        let ledger = recover(redis, &self.store).await?;
        let shard = redis.shard();
        match self.publish(shard, ledger).await {
            Ok(()) => {}
            Err(OutboxError::Cache(error)) => return Err(error.into()),
            Err(OutboxError::Superseded) => return Err(RecoveryError::Superseded.into()),
            Err(OutboxError::Store(_)) if is_starting => {
                self.cache.forget(shard).await?;
            }
            Err(OutboxError::Store(_)) => self.cache.announce_noted(shard).await?,
        }
        redis.recovered();
        Ok(())
    }

    /// Publishes what the outbox has of a shard.
    async fn publish(&self, shard: Shard, ledger: Ledger) -> Result<(), OutboxError> {
        let late = || StoreError::Unavailable("the outbox could not be read in time".into());
        if ledger == Ledger::Away {
            return Err(late().into());
        }
        let noted = self.cache.noted(shard);
        let publishing = publish_pending(&self.store, &self.cache, |of| of == shard);
        let published = timeout(PUBLISHING_TIMEOUT, publishing).await;
        published.unwrap_or_else(|_| Err(late().into()))?;
        self.cache.all_announced(noted);
        Ok(())
    }
}
