//! How this instance's databases are, for the front page.

use std::time::Duration;

use futures_util::future::join_all;

use crate::shared_redis::{RedisShard, RedisShards};

/// How long Redis may take to answer.
const TIMEOUT: Duration = Duration::from_secs(1);

/// What the front page asks beside the database; cheap to clone.
#[derive(Clone)]
pub struct Health {
    redis: Option<RedisShards>,
}

/// How Redis is.
pub(super) enum RedisHealth {
    /// The service runs without it.
    Off,
    /// It does not answer; of a cluster, a part of it does not.
    Away,
    /// So many links have clicks that are not written back to the database.
    Up { pending_links: u64 },
}

impl Health {
    /// Of a service with these shards of Redis.
    #[must_use]
    pub fn new(redis: Option<RedisShards>) -> Self {
        Self { redis }
    }

    pub(super) async fn redis(&self) -> RedisHealth {
        let Some(shards) = &self.redis else {
            return RedisHealth::Off;
        };
        let pending = join_all(shards.iter().map(pending)).await;
        let pending: Option<Vec<u64>> = pending.into_iter().collect();
        match pending {
            Some(pending) => RedisHealth::Up {
                pending_links: pending.into_iter().sum(),
            },
            None => RedisHealth::Away,
        }
    }
}

/// Links of a shard whose clicks are not written back.
async fn pending(redis: &RedisShard) -> Option<u64> {
    if !redis.is_up() {
        return None;
    }
    redis.pending_links(TIMEOUT).await.ok()
}
