//! Watching the history of the database: when it may have gone back, every instance drops its cache.
//!
//! Redis remembers what instances have seen, so that one that starts, or whose neighbours are gone, compares the database
//! with it.

use std::collections::HashMap;

use crate::cache::{CacheError, LinkCache};
use crate::domain::Shard;
use crate::shared_redis::{RedisFailure, RedisShard, RedisShards};
use crate::store::{HistoryNote, Store, StoreError};
use crate::telemetry::metrics::DATABASE_ROLLED_BACK;

/// Compares the database with what instances have seen of it.
pub(super) struct HistoryWatch {
    store: Store,
    cache: LinkCache,
    redis: Option<RedisShards>,
    /// The history of the links that this process has in memory.
    in_memory: Option<String>,
    /// The history of the links that each shard of Redis has.
    in_redis: HashMap<Shard, String>,
}

/// Why the check is left to the next time.
#[derive(Debug, thiserror::Error)]
pub(super) enum HistoryError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Redis(#[from] RedisFailure),
    #[error(transparent)]
    Cache(#[from] CacheError),
}

impl HistoryWatch {
    pub(super) fn new(store: &Store, cache: &LinkCache, redis: Option<&RedisShards>) -> Self {
        Self {
            store: store.clone(),
            cache: cache.clone(),
            redis: redis.cloned(),
            in_memory: None,
            in_redis: HashMap::new(),
        }
    }

    /// Checks once. While Redis is away, it uses only the database.
    pub(super) async fn check(&mut self) -> Result<(), HistoryError> {
        let others = match self.reachable_shards().first() {
            Some(redis) => remembered(redis).await.unwrap_or_default(),
            None => None,
        };
        let Some(check) = self.store.check_history(others.as_ref()).await? else {
            return Ok(());
        };
        let note = check.note;
        if check.went_back {
            metrics::counter!(DATABASE_ROLLED_BACK).increment(1);
            tracing::error!(
                "the database went back: what was written last is lost; cached links are dropped, and ids go on above those given out"
            );
        }
        if self.in_memory.as_ref() != Some(&note.id) {
            self.cache.clear_process().await;
            if self.in_memory.replace(note.id.clone()).is_some() && !check.went_back {
                tracing::warn!("the database has another server: cached links are dropped");
            }
        }
        let mut outcome = Ok(());
        for (number, redis) in self.reachable_shards().into_iter().enumerate() {
            // Shards do not wait for a shard that fails.
            if let Err(error) = self.settle(&redis, &note, number == 0).await {
                outcome = Err(error);
            }
        }
        outcome
    }

    /// Drops the links of another history from a shard, and stores the current history in it.
    async fn settle(
        &mut self,
        redis: &RedisShard,
        note: &HistoryNote,
        is_first: bool,
    ) -> Result<(), HistoryError> {
        let shard = redis.shard();
        let is_settled = self.in_redis.get(&shard) == Some(&note.id);
        if is_settled && !is_first {
            return Ok(());
        }
        let mut newest = note.clone();
        let known = remembered(redis).await?;
        if let Some(known) = &known {
            newest.add(known);
        }
        if known.is_some_and(|known| known.id != note.id) {
            self.cache.forget(shard).await?;
        }
        let newest = serde_json::to_string(&newest).unwrap_or_default();
        redis.remember_history(&newest).await?;
        self.in_redis.insert(shard, note.id.clone());
        Ok(())
    }

    fn reachable_shards(&self) -> Vec<RedisShard> {
        let shards = self.redis.iter().flat_map(RedisShards::iter);
        shards.filter(|redis| redis.is_up()).cloned().collect()
    }
}

/// What a shard remembers; nothing if that is unreadable.
async fn remembered(redis: &RedisShard) -> Result<Option<HistoryNote>, RedisFailure> {
    let note = redis.history().await?;
    Ok(note.and_then(|note| serde_json::from_slice(note.as_bytes()).ok()))
}
