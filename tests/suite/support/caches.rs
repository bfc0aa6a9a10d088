//! Caches of links beside a Redis, for parts of the service that are tested by themselves.

use std::time::Duration;

use shunt::cache::{CacheLimits, LinkCache};
use shunt::shared_redis::RedisShards;

/// A cache of one worker.
pub(crate) fn cache(shards: &RedisShards) -> LinkCache {
    let limits = CacheLimits {
        memory: 1_000_000,
        links: None,
        link_ttl: Duration::from_mins(1),
        is_alone: false,
        unknown_ttl: Duration::from_mins(1),
        workers: 1,
    };
    LinkCache::new(limits, Some(shards)).for_worker().0
}
