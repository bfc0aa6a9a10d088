//! All data sets: the only one of a single Redis, or the shards of a Redis Cluster.
//!
//! Each shard is a whole data set with its own keys, epoch, server, connections, and verdict on whether it is up. So the
//! failure of one master of a cluster concerns its shards alone, and each shard keeps the rules of a single Redis.
//! Therefore every shard finds its master by itself and has plain connections to it. With one cluster connection for
//! all shards, a master that hangs would delay the commands to the others, and a master could be replaced without a
//! comparison of its successor with the database.

use std::sync::Arc;
use std::time::Duration;

use metrics::Gauge;

use super::keys::Keys;
use super::servers::{RedisServers, Seeds};
use super::shard::RedisShard;
use crate::domain::{Clock, Shard};
use crate::telemetry::metrics::REDIS_UP;

/// Into which data sets the data is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The only one, of a single Redis.
    Single,
    /// This many shards of a cluster.
    Shards(u16),
    /// Those on a cluster of versions without `REDIS_SHARDS`.
    OfFormerVersion,
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
        let is_up = |keys: &Keys| match keys.shard() {
            None => metrics::gauge!(REDIS_UP),
            Some(shard) => metrics::gauge!(REDIS_UP, "shard" => shard.number().to_string()),
        };
        Self::with_gauges(servers, layout, prefix, deadline, clock, is_up)
    }

    /// The same without metrics, for data sets that are given up.
    #[must_use]
    pub fn given_up(
        servers: &RedisServers,
        layout: Layout,
        prefix: &str,
        deadline: Duration,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        Self::with_gauges(servers, layout, prefix, deadline, clock, |_| Gauge::noop())
    }

    fn with_gauges(
        servers: &RedisServers,
        layout: Layout,
        prefix: &str,
        deadline: Duration,
        clock: &Arc<dyn Clock>,
        is_up: impl Fn(&Keys) -> Gauge,
    ) -> Self {
        let keys = match layout {
            Layout::Single => vec![Keys::new(prefix)],
            Layout::Shards(count) => Shard::all(count)
                .map(|shard| Keys::of_shard(prefix, shard, count))
                .collect(),
            Layout::OfFormerVersion => Keys::of_former_version(prefix),
        };
        let seeds = Arc::new(Seeds::new(servers));
        let shard = |keys: Keys| {
            let is_up = is_up(&keys);
            RedisShard::new(Arc::clone(&seeds), keys, deadline, Arc::clone(clock), is_up)
        };
        Self(keys.into_iter().map(shard).collect())
    }

    /// All shards, by rising index.
    pub fn iter(&self) -> impl Iterator<Item = &RedisShard> {
        self.0.iter()
    }

    /// Those shards for which `wanted` holds.
    #[must_use]
    pub fn only(&self, wanted: impl Fn(&RedisShard) -> bool) -> Self {
        Self(self.iter().filter(|shard| wanted(shard)).cloned().collect())
    }

    /// A shard for keys that belong to no link: always the same one for the same number.
    #[must_use]
    pub fn of_number(&self, number: u64) -> &RedisShard {
        let index = number % self.0.len() as u64;
        &self.0[usize::try_from(index).unwrap_or_default()]
    }
}
