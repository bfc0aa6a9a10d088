//! Taking a Redis into use, at the start and each time that it comes back.

use std::time::Duration;

use tokio::time::timeout;

use crate::cache::LinkCache;
use crate::clicks::{RecoveryError, recover};
use crate::links::{OutboxError, publish_pending};
use crate::redis::RedisShard;
use crate::store::Store;

/// How long a Redis that came back waits for a database that may hang.
const PING_TIMEOUT: Duration = Duration::from_millis(500);

/// Why a Redis is not used yet.
#[derive(Debug, thiserror::Error)]
pub(super) enum RecoverShardError {
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    #[error("changes of links could not be published: {0}")]
    Unpublished(OutboxError),
}

/// Checks a shard and opens it to all parts of this instance. It may have links that were deleted while it was away,
/// so pending changes are published in it first.
pub(super) async fn recover_shard(
    redis: &RedisShard,
    store: &Store,
    cache: &LinkCache,
) -> Result<(), RecoverShardError> {
    recover(redis, &*store.clicks, store.database.installation()).await?;
    // Without the database the changes are unknown. Clicks matter more, so the changes are published later.
    if let Ok(Ok(())) = timeout(PING_TIMEOUT, store.database.ping()).await {
        let is_this = |shard| shard == redis.shard();
        match publish_pending(&*store.outbox, cache, is_this).await {
            Ok(()) | Err(OutboxError::Store(_)) => {}
            Err(error) => return Err(RecoverShardError::Unpublished(error)),
        }
    }
    redis.recovered();
    Ok(())
}
