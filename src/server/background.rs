//! What goes on beside the requests: writing back, pruning, finding Redis again.

use std::ops::Add;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep, timeout_at};

use super::assembly::Assembly;
use super::connect::{NotInUse, take_into_use};
use super::lifecycle::Stop;
use crate::clicks::{FlushFailure, FlushOutcome, NotAdmitted, RedisSink, settle_held};
use crate::links::publish_pending;
use crate::shared::{NotFound, Shards, SharedRedis};
use crate::store::PostgresReplica;
use crate::telemetry::metrics::{
    CACHE_LINKS, DATABASE_CONNECTIONS, DATABASE_CONNECTIONS_MAX, Exposition, FLUSH_DURATION,
    FLUSH_ERRORS, FLUSHED_CLICKS, FLUSHED_LINKS, PENDING, PENDING_OLDEST, REDIS_CONNECTIONS,
    REDIS_CONNECTIONS_MAX, REPLICA_CONNECTIONS, REPLICA_CONNECTIONS_MAX, REPLICA_LAG, REPLICA_UP,
    RUNTIME_QUEUE, RUNTIME_TASKS, RUNTIME_WORKERS, bounded,
};

/// Pauses between two probes of a Redis that is away, each twice as long as the one before.
const FIRST_PROBE_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PROBE_PAUSE: Duration = Duration::from_millis(250);

/// A Redis that was up for so long is probed at once when it is away: its connections may just have been cut.
const STEADY: Duration = Duration::from_secs(1);

/// Pause between two sweeps of what crashed instances left over.
const SWEEP_INTERVAL: Duration = Duration::from_secs(5);

/// Pause between two looks into the outbox: so long a change may be unknown that was made by hand, or by an
/// instance cut off from Redis.
const PUBLISH_INTERVAL: Duration = Duration::from_millis(500);

/// Pause between two questions where link changes stand.
const LISTEN_INTERVAL: Duration = Duration::from_millis(250);

/// Pause between two measurements.
const MEASURE_INTERVAL: Duration = Duration::from_secs(5);

/// Pause between two looks at the replica: so long one that was away may be back and not be asked.
const REPLICA_INTERVAL: Duration = Duration::from_secs(1);

/// Pause between two looks after the database.
const TEND_INTERVAL: Duration = Duration::from_secs(1);

/// Pause between two prunings of ledgers.
const PRUNE_INTERVAL: Duration = Duration::from_mins(1);

/// How long an instance that stops looks whether another one leaves flushing to it, and how often: where all are
/// stopped at once, the last has to write back.
const OTHERS_TIMEOUT: Duration = Duration::from_secs(2);
const OTHERS_PAUSE: Duration = Duration::from_millis(100);

/// Spawns what ends when the service is asked to stop. Returns what looks for a Redis that is away as long as it is
/// kept: clicks that are in memory alone when the stop is asked for may need it.
pub(super) fn spawn(
    tasks: &mut JoinSet<()>,
    assembly: &Arc<Assembly>,
    flush_interval: Duration,
    metrics: Exposition,
    stop: &Stop,
) -> JoinSet<()> {
    let ours = || Arc::clone(assembly);
    let mut background = Background { tasks, stop };
    background.spawn(flush_regularly(ours(), flush_interval));
    background.spawn(measure_regularly(ours(), metrics));
    background.every(PRUNE_INTERVAL, ours(), prune);
    background.every(TEND_INTERVAL, ours(), tend);
    // Without Redis nobody else can be told: what is in the outbox is left to instances that have one.
    if assembly.redis.is_some() || assembly.is_alone {
        background.every(PUBLISH_INTERVAL, ours(), publish);
    }
    if let Some(replica) = &assembly.replica {
        background.every(REPLICA_INTERVAL, Arc::clone(replica), look_after);
    }
    let mut finders = JoinSet::new();
    let Some(shards) = &assembly.redis else {
        return finders;
    };
    let sinks: Arc<[_]> = shards.iter().map(RedisSink::new).collect();
    background.every(SWEEP_INTERVAL, (ours(), sinks), sweep);
    for redis in shards.iter() {
        background.every(LISTEN_INTERVAL, (ours(), redis.clone()), listen);
        finders.spawn(find_again(ours(), redis.clone()));
    }
    finders
}

/// Where work is spawned that ends with the service.
struct Background<'a> {
    tasks: &'a mut JoinSet<()>,
    stop: &'a Stop,
}

impl Background<'_> {
    fn spawn(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = work => {},
                () = stop.asked() => {},
            }
        });
    }

    /// Work that is done at once and then again and again, so long after it was begun, or as soon as it is done.
    fn every<On, Work>(&mut self, pause: Duration, on: On, work: fn(On) -> Work)
    where
        On: Clone + Send + 'static,
        Work: Future<Output = ()> + Send + 'static,
    {
        self.spawn(async move {
            let mut ticks = regularly(pause);
            loop {
                ticks.tick().await;
                work(on.clone()).await;
            }
        });
    }
}

/// Ticks that come late are not made up for.
fn regularly(pause: Duration) -> Interval {
    let mut ticks = interval(pause);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Flushes at least `every` so often, and from Redis never more than a fifth of the time: under great load
/// fewer, larger flushes write each link's clicks back at once. A journal grows meanwhile with every batch,
/// so that the next time would take the longer.
async fn flush_regularly(assembly: Arc<Assembly>, every: Duration) {
    let rest = if assembly.redis.is_some() { 4 } else { 0 };
    loop {
        let begun = Instant::now();
        flush(&assembly).await;
        sleep(every.max(begun.elapsed() * rest)).await;
    }
}

/// A flush that fails is made up for by the next one.
async fn flush(assembly: &Assembly) -> FlushOutcome {
    let begun = Instant::now();
    let outcome = assembly.flusher.flush().await;
    metrics::counter!(FLUSHED_CLICKS).increment(outcome.flushed.clicks);
    metrics::counter!(FLUSHED_LINKS).increment(outcome.flushed.links);
    assembly.flushed(&outcome.done);
    if let Some(error) = &outcome.failure {
        metrics::counter!(FLUSH_ERRORS).increment(1);
        tracing::warn!(%error, "clicks could not be written back; trying again");
    } else {
        metrics::gauge!(PENDING).set(bounded(outcome.flushed.clicks));
        metrics::histogram!(FLUSH_DURATION).record(begun.elapsed().as_secs_f64());
    }
    outcome
}

/// Finds the replica, at first and whenever it was away, and says how far it lags behind.
async fn look_after(replica: Arc<PostgresReplica>) {
    let lag = replica.probe().await;
    metrics::gauge!(REPLICA_UP).set(u8::from(lag.is_some()));
    let lag = lag.map_or(f64::NAN, |lag| lag.as_secs_f64());
    metrics::gauge!(REPLICA_LAG).set(lag);
}

/// Drains what histograms gathered, and takes the measures that nobody counts as they change.
async fn measure_regularly(assembly: Arc<Assembly>, metrics: Exposition) {
    let mut ticks = regularly(MEASURE_INTERVAL);
    let process = metrics_process::Collector::default();
    process.describe();
    loop {
        ticks.tick().await;
        metrics.run_upkeep();
        measure(&assembly).await;
        process.collect();
    }
}

async fn measure(assembly: &Assembly) {
    metrics::gauge!(CACHE_LINKS).set(bounded(assembly.cache.links_held().await));
    for (shard, since) in assembly.since_last_flush() {
        metrics::gauge!(PENDING_OLDEST, "shard" => shard.index().to_string())
            .set(since.as_secs_f64());
    }
    let database = assembly.store.links.connections();
    database.tell(DATABASE_CONNECTIONS, DATABASE_CONNECTIONS_MAX);
    let replica = assembly.replica.as_ref();
    if let Some(replica) = replica.and_then(|replica| replica.connections()) {
        replica.tell(REPLICA_CONNECTIONS, REPLICA_CONNECTIONS_MAX);
    }
    let of_shards = assembly.redis.iter().flat_map(Shards::iter);
    if let Some(redis) = of_shards.map(SharedRedis::connections).reduce(Add::add) {
        redis.tell(REDIS_CONNECTIONS, REDIS_CONNECTIONS_MAX);
    }
    let runtime = Handle::current().metrics();
    metrics::gauge!(RUNTIME_WORKERS).set(bounded(runtime.num_workers() as u64));
    metrics::gauge!(RUNTIME_TASKS).set(bounded(runtime.num_alive_tasks() as u64));
    metrics::gauge!(RUNTIME_QUEUE).set(bounded(runtime.global_queue_depth() as u64));
}

async fn prune(assembly: Arc<Assembly>) {
    if let Err(error) = assembly.flusher.prune().await {
        tracing::warn!(%error, "ledgers could not be pruned; trying again");
    }
}

async fn tend(assembly: Arc<Assembly>) {
    if let Err(error) = assembly.store.clicks.tend().await {
        tracing::warn!(%error, "the database could not be looked after; trying again");
    }
}

/// Tells what nobody told: changes made by hand, or by instances that crashed or do not reach Redis.
async fn publish(assembly: Arc<Assembly>) {
    let is_up = |shard| match &assembly.redis {
        Some(shards) => shards
            .iter()
            .any(|redis| redis.shard() == shard && redis.is_up()),
        // There is nobody else to be told.
        None => true,
    };
    if let Some(shards) = &assembly.redis
        && !shards.iter().any(SharedRedis::is_up)
    {
        return;
    }
    let published = publish_pending(&*assembly.store.links, &assembly.cache, is_up);
    if let Err(error) = published.await {
        tracing::warn!(%error, "changes of links could not be published; trying again");
    }
}

/// Hears of changes also while no click is acknowledged that would tell: an inactive link that is active again
/// has none.
async fn listen((assembly, redis): (Arc<Assembly>, SharedRedis)) {
    if redis.is_up() {
        // What is not heard now is heard with the next click, or the next time.
        let _ = assembly.cache.listen(redis.shard()).await;
    }
}

/// Finishes what instances that crashed left over.
async fn sweep((assembly, sinks): (Arc<Assembly>, Arc<[RedisSink]>)) {
    let sinks_up = sinks.iter().filter(|sink| sink.is_up());
    if let Err(error) = settle_held(sinks_up, &*assembly.store.clicks, &assembly.cache).await {
        tracing::warn!(%error, "clicks in doubt could not be settled; trying again");
    }
}

/// Whenever Redis is away, looks for it until it is back.
async fn find_again(assembly: Arc<Assembly>, redis: SharedRedis) {
    let mut pause = Duration::ZERO;
    loop {
        let up_since = Instant::now();
        redis.tripped().await;
        pause = if up_since.elapsed() > STEADY {
            Duration::ZERO
        } else {
            (pause * 2).clamp(FIRST_PROBE_PAUSE, LONGEST_PROBE_PAUSE)
        };
        sleep(pause).await;
        let store = &assembly.store;
        let again = take_into_use(&redis, &*store.links, &*store.clicks, &assembly.cache);
        if let Err(error) = again.await {
            tracing::debug!(%error, "Redis is still away");
            if let NotInUse::NotAdmitted(NotAdmitted::NotFound(NotFound::Failed(failure))) = &error
            {
                redis.note_why_away(failure);
            }
        }
    }
}

/// Writes back what is left; whatever fails is in Redis or in the journal and written back later.
pub(super) async fn last_flush(assembly: &Assembly, deadline: Instant) {
    let others_leave = Instant::now() + OTHERS_TIMEOUT;
    let last = async {
        // Twice: a flush that the stop cut short comes first, and takes nothing that came since.
        for _ in 0..2 {
            let mut outcome = flush(assembly).await;
            while outcome.is_shared && Instant::now() < others_leave {
                sleep(OTHERS_PAUSE).await;
                outcome = flush(assembly).await;
            }
            if let Some(FlushFailure::Store(_)) = outcome.failure {
                break;
            }
        }
        if let Err(error) = assembly.flusher.release().await {
            tracing::debug!(%error, "the lease on flushing is left to expire");
        }
    };
    if timeout_at(deadline, last).await.is_err() {
        tracing::warn!(
            "the last flush was cut short; the rest is written back after the next start"
        );
    }
}

/// Leaves the database as one finds it best while nobody uses it.
pub(super) async fn close(assembly: &Assembly, deadline: Instant) {
    match timeout_at(deadline, assembly.store.clicks.close()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "the database is left as it is"),
        Err(_) => tracing::debug!("there was no time to put the database in order"),
    }
}
