//! All data sets: the only one of a single Redis, or the shards of a Redis Cluster.
//!
//! Each shard is a whole data set with its own keys, epoch, server, connections, and verdict on whether it is up. So the
//! failure of one master of a cluster concerns its shards alone, and each shard keeps the rules of a single Redis.
//! Therefore every shard finds its master by itself and has plain connections to it. With one cluster connection for
//! all shards, a master that hangs would delay the commands to the others, and a master could be replaced without a
//! comparison of its successor with the database.

use std::sync::Arc;
use std::time::Duration;

use super::keys::Keys;
use super::servers::{RedisServers, Seeds};
use super::shard::RedisShard;
use crate::domain::{Clock, Shard};

/// Into which data sets the data is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The only one, of a single Redis.
    Single,
    /// This many shards of a cluster.
    Shards(u16),
}

/// All shards; cheap to clone.
#[derive(Clone)]
pub struct RedisShards(Arc<[RedisShard]>);

impl RedisShards {
    /// The shards of a layout. `prefix` begins all keys, `deadline` bounds every command.
    #[must_use]
    pub fn new(
        servers: &RedisServers,
        layout: Layout,
        prefix: &str,
        deadline: Duration,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        let keys = match layout {
            Layout::Single => vec![Keys::new(prefix)],
            Layout::Shards(count) => Shard::all(count)
                .map(|shard| Keys::of_shard(prefix, shard, count))
                .collect(),
        };
        let seeds = Arc::new(Seeds::new(servers));
        let shard = |keys| RedisShard::new(Arc::clone(&seeds), keys, deadline, Arc::clone(clock));
        Self(keys.into_iter().map(shard).collect())
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

    /// Sets how many bytes the classes of clicks may take in all shards together.
    pub fn set_room_for_details(&self, bytes: u64) {
        for shard in self.iter() {
            shard.set_room_for_details(bytes / self.0.len() as u64);
        }
    }

    /// A shard for keys that belong to no link: always the same one for the same number.
    #[must_use]
    pub fn of_number(&self, number: u64) -> &RedisShard {
        let index = number % self.0.len() as u64;
        &self.0[usize::try_from(index).unwrap_or_default()]
    }
}
