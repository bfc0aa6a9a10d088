//! Measures, every few seconds, the values that are not counted where they change; drains the histograms.

use std::ops::Add;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use super::flush_times::FlushTimes;
use super::runner::ticks;
use crate::cache::LinkCache;
use crate::redis::{RedisShard, RedisShards};
use crate::store::{Database, PostgresReplica};
use crate::telemetry::metrics::{
    CACHE_LINKS, DATABASE_CONNECTIONS, DATABASE_CONNECTIONS_MAX, Exposition, PENDING_OLDEST,
    REDIS_CONNECTIONS, REDIS_CONNECTIONS_MAX, REPLICA_CONNECTIONS, REPLICA_CONNECTIONS_MAX,
    RUNTIME_QUEUE, RUNTIME_TASKS, RUNTIME_WORKERS, bounded,
};

/// Pause between two measurements.
const PAUSE: Duration = Duration::from_secs(5);

/// The parts that are measured.
pub(super) struct Measured {
    pub(super) cache: LinkCache,
    pub(super) flush_times: Arc<FlushTimes>,
    pub(super) database: Arc<dyn Database>,
    pub(super) replica: Option<Arc<PostgresReplica>>,
    pub(super) redis: Option<RedisShards>,
}

pub(super) async fn run(parts: Measured, metrics: Exposition) {
    let mut ticks = ticks(PAUSE);
    let process = metrics_process::Collector::default();
    process.describe();
    loop {
        ticks.tick().await;
        metrics.run_upkeep();
        parts.measure().await;
        process.collect();
    }
}

impl Measured {
    async fn measure(&self) {
        metrics::gauge!(CACHE_LINKS).set(bounded(self.cache.link_count().await));
        for (shard, age) in self.flush_times.ages() {
            metrics::gauge!(PENDING_OLDEST, "shard" => shard.number().to_string())
                .set(age.as_secs_f64());
        }
        let database = self.database.connections();
        database.report(DATABASE_CONNECTIONS, DATABASE_CONNECTIONS_MAX);
        let replica = self.replica.as_ref();
        if let Some(replica) = replica.and_then(|replica| replica.connections()) {
            replica.report(REPLICA_CONNECTIONS, REPLICA_CONNECTIONS_MAX);
        }
        let of_shards = self.redis.iter().flat_map(RedisShards::iter);
        if let Some(redis) = of_shards.map(RedisShard::connections).reduce(Add::add) {
            redis.report(REDIS_CONNECTIONS, REDIS_CONNECTIONS_MAX);
        }
        let runtime = Handle::current().metrics();
        metrics::gauge!(RUNTIME_WORKERS).set(bounded(runtime.num_workers() as u64));
        metrics::gauge!(RUNTIME_TASKS).set(bounded(runtime.num_alive_tasks() as u64));
        metrics::gauge!(RUNTIME_QUEUE).set(bounded(runtime.global_queue_depth() as u64));
    }
}
