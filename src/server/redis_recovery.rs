//! Recovering a shard of Redis: what has to happen before it is used, at the start and each time that it comes back.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::cache::{CacheError, LinkCache};
use crate::clicks::{RecoveryError, recover};
use crate::links::{OutboxError, publish_pending};
use crate::redis::RedisShard;
use crate::store::{Clicks, Database, Outbox, Store};

/// How long a shard that came back waits for the changes that were not published in it.
const PUBLISHING_TIMEOUT: Duration = Duration::from_secs(1);

/// Recovers shards; cheap to clone.
#[derive(Clone)]
pub(super) struct RedisRecovery {
    clicks: Arc<dyn Clicks>,
    database: Arc<dyn Database>,
    outbox: Arc<dyn Outbox>,
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
            clicks: Arc::clone(&store.clicks),
            database: Arc::clone(&store.database),
            outbox: Arc::clone(&store.outbox),
            cache: cache.clone(),
        }
    }

    /// Checks a shard and opens it to all parts of this instance. It may have links that were deleted while it was
    /// away, so pending changes are published in it first. Where the database cannot say at once which these are, every link
    /// that is cached becomes a miss.
    pub(super) async fn recover(&self, redis: &RedisShard) -> Result<(), RecoverShardError> {
        recover(redis, &*self.clicks, self.database.installation()).await?;
        let is_this = |shard| shard == redis.shard();
        let publishing = publish_pending(&*self.outbox, &self.cache, is_this);
        match timeout(PUBLISHING_TIMEOUT, publishing).await {
            Ok(Ok(())) => {}
            Ok(Err(OutboxError::Cache(error))) => return Err(error.into()),
            Ok(Err(OutboxError::Superseded)) => return Err(RecoveryError::Superseded.into()),
            Ok(Err(OutboxError::Store(_))) | Err(_) => {
                self.cache.forget(redis.shard()).await?;
            }
        }
        redis.recovered();
        Ok(())
    }
}
