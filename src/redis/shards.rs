//! The data sets that instances share: the only one of a single Redis, or those of a Redis Cluster.
//!
//! Each shard is a whole data set with everything of its own: keys, epoch, server, connections, and an
//! opinion on whether it is up. So whatever happens to a master of the cluster happens to its shards alone,
//! and the rules that hold for one Redis hold for each of them. That is why every shard finds its master by
//! itself and has plain connections to it: with one cluster connection for all, a master that hangs would
//! hold up the others' commands, and a master could be replaced without anybody looking at its successor.

use std::sync::Arc;
use std::time::Duration;

use redis::IntoConnectionInfo;

use super::{InvalidRedisUrl, RedisShard};
use crate::domain::{Clock, Shard};
use crate::redis::keys::Keys;

/// All shards; cheap to clone.
#[derive(Clone)]
pub struct RedisShards(Arc<[RedisShard]>);

impl RedisShards {
    /// Handles on the Redis at a URL, or on the Redis Cluster that several URLs lead to; `prefix` begins all
    /// keys, `deadline` bounds every command.
    ///
    /// # Errors
    /// When a URL is none that names a Redis.
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

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &RedisShard> {
        self.0.iter()
    }

    /// Any shard, the same for the same number.
    #[must_use]
    pub fn of_number(&self, number: u64) -> &RedisShard {
        let index = number % self.0.len() as u64;
        &self.0[usize::try_from(index).unwrap_or_default()]
    }
}
