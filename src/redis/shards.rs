//! All data sets: the only one of a single Redis, or the shards of a Redis Cluster.
//!
//! Each shard is a whole data set with its own keys, epoch, server, connections, and verdict on whether it is up. So the
//! failure of one master of a cluster concerns its shards alone, and each shard keeps the rules of a single Redis.
//! Therefore every shard finds its master by itself and has plain connections to it. With one cluster connection for
//! all shards, a master that hangs would delay the commands to the others, and a master could be replaced without a
//! comparison of its successor with the database.

use std::sync::Arc;
use std::time::Duration;

use redis::IntoConnectionInfo;

use super::keys::Keys;
use super::shard::RedisShard;
use crate::domain::{Clock, Shard};

/// The setting is no URL of a Redis.
#[derive(Debug, thiserror::Error)]
#[error("REDIS_URL: {0}")]
pub struct InvalidRedisUrl(String);

/// All shards; cheap to clone.
#[derive(Clone)]
pub struct RedisShards(Arc<[RedisShard]>);

impl RedisShards {
    /// One URL is of a single Redis; several are of masters of a Redis Cluster. `prefix` begins all keys, `deadline`
    /// bounds every command.
    ///
    /// # Errors
    /// When a URL is no URL of a Redis.
    pub fn new(
        urls: &[String],
        prefix: &str,
        deadline: Duration,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, InvalidRedisUrl> {
        let servers = urls
            .iter()
            .map(|url| url.as_str().into_connection_info())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| InvalidRedisUrl(error.to_string()))?;
        let servers: Arc<[_]> = servers.into();
        let shards = match urls {
            [_] => vec![RedisShard::new(
                servers,
                Keys::new(prefix),
                deadline,
                Arc::clone(clock),
            )],
            _ => Shard::all(Shard::IN_CLUSTER)
                .map(|shard| {
                    let keys = Keys::of_shard(prefix, shard);
                    RedisShard::new(Arc::clone(&servers), keys, deadline, Arc::clone(clock))
                })
                .collect(),
        };
        Ok(Self(shards.into()))
    }

    /// One data set alone.
    #[must_use]
    pub fn of(shard: RedisShard) -> Self {
        Self([shard].into())
    }

    /// All shards, by rising index.
    pub fn iter(&self) -> impl Iterator<Item = &RedisShard> {
        self.0.iter()
    }

    /// A shard for keys that belong to no link: always the same one for the same number.
    #[must_use]
    pub fn of_number(&self, number: u64) -> &RedisShard {
        let index = number % self.0.len() as u64;
        &self.0[usize::try_from(index).unwrap_or_default()]
    }
}
