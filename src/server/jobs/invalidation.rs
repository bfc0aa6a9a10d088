//! Reads the changes of links that other instances published, and announces the changes that this instance still has to.
//!
//! The acknowledgement of a click says that links changed. This job also learns of changes when no click is acknowledged: a
//! visit of a link that is cached as inactive has no click.

use std::time::Duration;

use super::runner::ticks;
use crate::cache::LinkCache;
use crate::shared_redis::RedisShard;

/// Pause between two reads of a shard's changes.
const PAUSE: Duration = Duration::from_millis(250);

pub(super) async fn run(cache: LinkCache, redis: RedisShard) {
    let mut ticks = ticks(PAUSE);
    loop {
        ticks.tick().await;
        if redis.is_reachable() {
            // A change that is missed now is read with the next click, or at the next tick.
            let _ = cache.poll_changes(redis.shard()).await;
        }
        if redis.is_up() {
            // Changes of this process that Redis was too late to take. There are seldom any.
            let _ = cache.announce_noted(redis.shard()).await;
        }
    }
}
