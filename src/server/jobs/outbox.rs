//! Publishes changes of links that are still in the outbox: those made by hand, and those of instances that crashed or
//! do not reach Redis.

use std::sync::Arc;
use std::time::Duration;

use super::runner::every;
use crate::cache::LinkCache;
use crate::links::publish_pending;
use crate::redis::{RedisShard, RedisShards};
use crate::store::Outbox;

/// Pause between two reads of the outbox: how long such a change may stay unpublished.
const PAUSE: Duration = Duration::from_millis(500);

/// Without Redis, changes are published in this process alone.
pub(super) async fn run(outbox: Arc<dyn Outbox>, cache: LinkCache, redis: Option<RedisShards>) {
    every(PAUSE, "publishing changes of links", || async {
        let is_up = |shard| match &redis {
            Some(shards) => shards
                .iter()
                .any(|redis| redis.shard() == shard && redis.is_up()),
            None => true,
        };
        if let Some(shards) = &redis
            && !shards.iter().any(RedisShard::is_up)
        {
            return Ok(());
        }
        publish_pending(&*outbox, &cache, is_up).await
    })
    .await;
}
