//! Publishes changes of links that are still in the outbox: those made by hand, and those of instances that crashed or
//! do not reach Redis.

use std::sync::Arc;
use std::time::Duration;

use super::runner::every;
use crate::cache::{ChangeNote, LinkCache};
use crate::clicks::LinkChanges;
use crate::links::{OutboxError, publish_pending};
use crate::shared_redis::{RedisShard, RedisShards};
use crate::store::Store;

/// Pause between two reads of the outbox: how long such a change may stay unpublished.
const PAUSE: Duration = Duration::from_millis(500);

/// Without Redis, changes are published only in this process.
pub(super) async fn run(
    store: Store,
    cache: LinkCache,
    link_changes: Arc<LinkChanges>,
    redis: Option<RedisShards>,
) {
    every(PAUSE, "publishing changes of links", || async {
        let Some(shards) = &redis else {
            return publish_pending(&store, &cache, |_| true).await;
        };
        if shards.iter().all(RedisShard::is_up) {
            return publish_all(&store, &cache, &link_changes).await;
        }
        // So this process knows what to tell Redis if the database goes away as well.
        let noted = noted_by(&cache);
        link_changes.follow().await?;
        let is_up = |shard| {
            let of_shard = shards.iter().find(|redis| redis.shard() == shard);
            of_shard.is_some_and(RedisShard::is_up)
        };
        publish_pending(&store, &cache, is_up).await?;
        if store.unpublished_changes(0, 1).await?.is_empty() {
            // Other instances have published all that was noted.
            for note in noted {
                cache.all_announced(note);
            }
        }
        Ok(())
    })
    .await;
}

/// What this process has noted up to now.
fn noted_by(cache: &LinkCache) -> Vec<ChangeNote> {
    cache.all_shards().map(|shard| cache.noted(shard)).collect()
}

/// Publishes all changes. Whatever was in the database before is then known to Redis, and so to this process.
async fn publish_all(
    store: &Store,
    cache: &LinkCache,
    link_changes: &LinkChanges,
) -> Result<(), OutboxError> {
    let noted = noted_by(cache);
    let now = link_changes.now().await?;
    publish_pending(store, cache, |_| true).await?;
    for shard in cache.all_shards() {
        if !cache.poll_changes(shard).await? {
            return Ok(());
        }
    }
    for note in noted {
        cache.all_announced(note);
    }
    link_changes.note_applied(now).await;
    Ok(())
}
