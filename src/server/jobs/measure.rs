//! Measures, every few seconds, the values that are not counted when they change; drains the histograms; reports shards that
//! come and go.

use std::ops::Add;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::runtime::Handle;

use super::flush_times::FlushTimes;
use super::runner::ticks;
use crate::cache::LinkCache;
use crate::shared_redis::{RedisShard, RedisShards};
use crate::store::{PostgresReplica, Store};
use crate::telemetry::exposition::Exposition;
use crate::telemetry::metrics::{
    CACHE_BYTES, CACHE_LINKS, CLICK_PARTS, DATABASE_BYTES, DATABASE_BYTES_MAX,
    DATABASE_CONNECTIONS, DATABASE_CONNECTIONS_LIMIT, DATABASE_CONNECTIONS_MAX, FLUSHES_UNMERGED,
    JOURNAL_BATCHES, OUTBOX_CHANGES, PENDING_LINKS, PENDING_OLDEST, REDIS_CONNECTIONS,
    REDIS_CONNECTIONS_MAX, REPLICA_CONNECTIONS, REPLICA_CONNECTIONS_MAX, RUNTIME_QUEUE,
    RUNTIME_TASKS, RUNTIME_WORKERS, SQLITE_BYTES, SQLITE_DISK, SQLITE_DISK_FREE, bounded, bytes,
    gauge_of_shard,
};

/// Pause between two measurements.
const PAUSE: Duration = Duration::from_secs(5);

/// The same for what is in the stores, and how long Redis may take to count.
const STORES_PAUSE: Duration = Duration::from_secs(5);
const SHARD_TIMEOUT: Duration = Duration::from_secs(2);

/// The parts that are measured.
pub(super) struct Measured {
    pub(super) cache: LinkCache,
    pub(super) flush_times: Arc<FlushTimes>,
    pub(super) store: Store,
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

/// Measures what is in the stores: apart from the rest, as a store that is away delays it.
pub(super) async fn run_stores(
    store: Store,
    redis: Option<RedisShards>,
    publishes: bool,
    max_bytes: u64,
) {
    let mut ticks = ticks(STORES_PAUSE);
    loop {
        ticks.tick().await;
        let shards = redis.iter().flat_map(RedisShards::iter);
        let shards = join_all(shards.map(measure_shard));
        tokio::join!(measure_database(&store, publishes, max_bytes), shards);
    }
}

/// While the database is away, the values stay as they were.
async fn measure_database(store: &Store, publishes: bool, max_bytes: u64) {
    let Ok(usage) = store.usage().await else {
        return;
    };
    store.room.note(usage.bytes, max_bytes);
    metrics::gauge!(DATABASE_BYTES).set(bytes(usage.bytes));
    if max_bytes > 0 {
        metrics::gauge!(DATABASE_BYTES_MAX).set(bytes(max_bytes));
    }
    metrics::gauge!(JOURNAL_BATCHES).set(bounded(usage.journal));
    metrics::gauge!(CLICK_PARTS).set(bounded(usage.parts));
    metrics::gauge!(FLUSHES_UNMERGED).set(bounded(usage.unmerged));
    // An instance without Redis leaves changes to instances with Redis. If no instance has Redis, no change waits.
    let outbox = if publishes { usage.outbox } else { 0 };
    metrics::gauge!(OUTBOX_CHANGES).set(bounded(outbox));
    if let Some(disk) = usage.disk {
        metrics::gauge!(SQLITE_BYTES, "file" => "database").set(bytes(disk.database));
        metrics::gauge!(SQLITE_BYTES, "file" => "log").set(bytes(disk.log));
        metrics::gauge!(SQLITE_DISK_FREE).set(bytes(disk.free));
        metrics::gauge!(SQLITE_DISK).set(bytes(disk.size));
    }
}

/// While Redis is away, the value stays as it was.
async fn measure_shard(redis: &RedisShard) {
    redis.report_flaps();
    if redis.is_reachable()
        && let Ok(links) = redis.pending_links(SHARD_TIMEOUT).await
    {
        gauge_of_shard(PENDING_LINKS, redis.shard()).set(bounded(links));
    }
}

impl Measured {
    async fn measure(&self) {
        let (links, bytes) = self.cache.size().await;
        metrics::gauge!(CACHE_LINKS).set(bounded(links));
        metrics::gauge!(CACHE_BYTES).set(bounded(bytes));
        for (shard, age) in self.flush_times.ages() {
            gauge_of_shard(PENDING_OLDEST, shard).set(age.as_secs_f64());
        }
        let database = self.store.connections();
        database.report(DATABASE_CONNECTIONS, DATABASE_CONNECTIONS_MAX);
        metrics::gauge!(DATABASE_CONNECTIONS_LIMIT).set(database.limit);
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
