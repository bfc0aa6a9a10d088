//! What goes on beside the requests: writing back, pruning, finding Redis again.

use std::fmt::Display;
use std::ops::Add;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep, timeout, timeout_at};

use crate::clicks::{
    FlushError, FlushOutcome, RecoveryError, RedisSink, SettleError, settle_parked,
};
use crate::links::{OutboxError, publish_pending};
use crate::redis::{FindMasterError, RedisShard, RedisShards};
use crate::server::app::App;
use crate::server::lifecycle::Shutdown;
use crate::server::startup::{ConnectRedisError, take_into_use};
use crate::store::{PostgresReplica, StoreError};
use crate::telemetry::metrics::{
    CACHE_LINKS, DATABASE_CONNECTIONS, DATABASE_CONNECTIONS_MAX, DATABASE_UP, Exposition,
    FLUSH_DURATION, FLUSH_ERRORS, FLUSHED_CLICKS, FLUSHED_LINKS, PENDING, PENDING_OLDEST,
    REDIS_CONNECTIONS, REDIS_CONNECTIONS_MAX, REPLICA_CONNECTIONS, REPLICA_CONNECTIONS_MAX,
    REPLICA_LAG, REPLICA_UP, RUNTIME_QUEUE, RUNTIME_TASKS, RUNTIME_WORKERS, bounded,
};
use crate::telemetry::throttle::FailureLog;

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

/// Pause between two looks after the database, at most.
const MAINTAIN_INTERVAL: Duration = Duration::from_secs(1);

/// Pause between two questions to the database that it only has to answer.
const REACH_INTERVAL: Duration = Duration::from_secs(1);

/// Pause between two looks whether clicks are in memory alone.
const DELIVERED_INTERVAL: Duration = Duration::from_secs(1);

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
    app: &Arc<App>,
    flush_interval: Duration,
    metrics: Exposition,
    stop: &Shutdown,
) -> JoinSet<()> {
    let ours = || Arc::clone(app);
    let mut background = Background { tasks, stop };
    background.spawn(flush_regularly(ours(), flush_interval));
    background.spawn(measure_regularly(ours(), metrics));
    background.every(PRUNE_INTERVAL, "pruning ledgers", ours(), prune);
    background.spawn(maintain_regularly(ours()));
    background.every(REACH_INTERVAL, "reaching the database", ours(), reach);
    background.every(DELIVERED_INTERVAL, "delivering clicks", ours(), delivered);
    // Without Redis nobody else can be told: what is in the outbox is left to instances that have one.
    if app.redis.is_some() || app.is_alone {
        background.every(
            PUBLISH_INTERVAL,
            "telling of changes of links",
            ours(),
            publish,
        );
    }
    if let Some(replica) = &app.replica {
        background.spawn(look_regularly_after(Arc::clone(replica)));
    }
    let mut finders = JoinSet::new();
    let Some(shards) = &app.redis else {
        return finders;
    };
    let sinks: Arc<[_]> = shards.iter().map(RedisSink::new).collect();
    background.every(
        SWEEP_INTERVAL,
        "settling clicks in doubt",
        (ours(), sinks),
        sweep,
    );
    for redis in shards.iter() {
        background.spawn(listen_regularly(ours(), redis.clone()));
        finders.spawn(find_again(ours(), redis.clone()));
    }
    finders
}

/// Where work is spawned that ends with the service.
struct Background<'a> {
    tasks: &'a mut JoinSet<()>,
    stop: &'a Shutdown,
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
    /// The log calls it `what`.
    fn every<On, Work, E>(
        &mut self,
        pause: Duration,
        what: &'static str,
        on: On,
        work: fn(On) -> Work,
    ) where
        On: Clone + Send + 'static,
        Work: Future<Output = Result<(), E>> + Send + 'static,
        E: Display + Send,
    {
        self.spawn(async move {
            let mut ticks = regularly(pause);
            let mut repeated = FailureLog::new(what);
            loop {
                ticks.tick().await;
                repeated.went(&work(on.clone()).await);
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
async fn flush_regularly(app: Arc<App>, every: Duration) {
    let rest = if app.redis.is_some() { 4 } else { 0 };
    let mut repeated = FailureLog::new("writing clicks back");
    loop {
        let begun = Instant::now();
        let outcome = flush(&app).await;
        repeated.went(&outcome.failure.map_or(Ok(()), Err));
        sleep(every.max(begun.elapsed() * rest)).await;
    }
}

/// A flush that fails is made up for by the next one.
async fn flush(app: &App) -> FlushOutcome {
    let begun = Instant::now();
    let outcome = app.flusher.flush().await;
    metrics::counter!(FLUSHED_CLICKS).increment(outcome.flushed.clicks);
    metrics::counter!(FLUSHED_LINKS).increment(outcome.flushed.links);
    app.flushed(&outcome.done);
    if outcome.failure.is_some() {
        metrics::counter!(FLUSH_ERRORS).increment(1);
    } else {
        metrics::gauge!(PENDING).set(bounded(outcome.flushed.clicks));
        metrics::histogram!(FLUSH_DURATION).record(begun.elapsed().as_secs_f64());
    }
    outcome
}

/// Finds the replica, at first and whenever it was away, and says how far it lags behind.
async fn look_regularly_after(replica: Arc<PostgresReplica>) {
    let mut ticks = regularly(REPLICA_INTERVAL);
    loop {
        ticks.tick().await;
        let lag = replica.probe().await;
        metrics::gauge!(REPLICA_UP).set(u8::from(lag.is_some()));
        let lag = lag.map_or(f64::NAN, |lag| lag.as_secs_f64());
        metrics::gauge!(REPLICA_LAG).set(lag);
    }
}

/// Drains what histograms gathered, and takes the measures that nobody counts as they change.
async fn measure_regularly(app: Arc<App>, metrics: Exposition) {
    let mut ticks = regularly(MEASURE_INTERVAL);
    let process = metrics_process::Collector::default();
    process.describe();
    loop {
        ticks.tick().await;
        metrics.run_upkeep();
        measure(&app).await;
        process.collect();
    }
}

async fn measure(app: &App) {
    metrics::gauge!(CACHE_LINKS).set(bounded(app.cache.link_count().await));
    for (shard, since) in app.since_last_flush() {
        metrics::gauge!(PENDING_OLDEST, "shard" => shard.index().to_string())
            .set(since.as_secs_f64());
    }
    let database = app.store.database.connections();
    database.tell(DATABASE_CONNECTIONS, DATABASE_CONNECTIONS_MAX);
    let replica = app.replica.as_ref();
    if let Some(replica) = replica.and_then(|replica| replica.connections()) {
        replica.tell(REPLICA_CONNECTIONS, REPLICA_CONNECTIONS_MAX);
    }
    let of_shards = app.redis.iter().flat_map(RedisShards::iter);
    if let Some(redis) = of_shards.map(RedisShard::connections).reduce(Add::add) {
        redis.tell(REDIS_CONNECTIONS, REDIS_CONNECTIONS_MAX);
    }
    let runtime = Handle::current().metrics();
    metrics::gauge!(RUNTIME_WORKERS).set(bounded(runtime.num_workers() as u64));
    metrics::gauge!(RUNTIME_TASKS).set(bounded(runtime.num_alive_tasks() as u64));
    metrics::gauge!(RUNTIME_QUEUE).set(bounded(runtime.global_queue_depth() as u64));
}

async fn prune(app: Arc<App>) -> Result<(), FlushError> {
    app.flusher.prune().await
}

/// Looks after the database when it is due, and every second.
async fn maintain_regularly(app: Arc<App>) {
    let database = &app.store.database;
    let mut repeated = FailureLog::new("looking after the database");
    loop {
        repeated.went(&database.maintain().await);
        // Should it not be due, the second is over.
        let _ = timeout(MAINTAIN_INTERVAL, database.maintenance_is_due()).await;
    }
}

async fn reach(app: Arc<App>) -> Result<(), StoreError> {
    let reached = timeout(REACH_INTERVAL, app.store.database.ping())
        .await
        .unwrap_or_else(|_| {
            Err(StoreError::Unavailable(
                "it did not answer within 1 s".into(),
            ))
        });
    metrics::gauge!(DATABASE_UP).set(u8::from(reached.is_ok()));
    reached
}

/// Answered clicks that would be lost with this process.
#[derive(Debug, thiserror::Error)]
#[error("{0} answered clicks are in memory alone")]
struct InMemoryAlone(u64);

async fn delivered(app: Arc<App>) -> Result<(), InMemoryAlone> {
    match app.memory_only.clicks() {
        0 => Ok(()),
        clicks => Err(InMemoryAlone(clicks)),
    }
}

/// Tells what nobody told: changes made by hand, or by instances that crashed or do not reach Redis.
async fn publish(app: Arc<App>) -> Result<(), OutboxError> {
    let is_up = |shard| match &app.redis {
        Some(shards) => shards
            .iter()
            .any(|redis| redis.shard() == shard && redis.is_up()),
        // There is nobody else to be told.
        None => true,
    };
    if let Some(shards) = &app.redis
        && !shards.iter().any(RedisShard::is_up)
    {
        return Ok(());
    }
    publish_pending(&*app.store.outbox, &app.cache, is_up).await
}

/// Hears of changes also while no click is acknowledged that would tell: an inactive link that is active again
/// has none.
async fn listen_regularly(app: Arc<App>, redis: RedisShard) {
    let mut ticks = regularly(LISTEN_INTERVAL);
    loop {
        ticks.tick().await;
        if redis.is_reachable() {
            // What is not heard now is heard with the next click, or the next time.
            let _ = app.cache.poll_changes(redis.shard()).await;
        }
    }
}

/// Finishes what instances that crashed left over.
async fn sweep((app, sinks): (Arc<App>, Arc<[RedisSink]>)) -> Result<(), SettleError> {
    let sinks_up = sinks.iter().filter(|sink| sink.is_up());
    let settled = settle_parked(sinks_up, &*app.store.clicks, &app.cache);
    settled.await.map(drop)
}

/// Whenever Redis is away, looks for it until it is back.
async fn find_again(app: Arc<App>, redis: RedisShard) {
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
        let again = take_into_use(&redis, &app.store, &app.cache);
        if let Err(error) = again.await {
            tracing::debug!(%error, "Redis is still away");
            if let ConnectRedisError::RecoveryError(RecoveryError::FindMasterError(
                FindMasterError::Failed(failure),
            )) = &error
            {
                redis.note_why_away(failure);
            }
        }
    }
}

/// Writes back what is left; whatever fails is in Redis or in the journal and written back later.
pub(super) async fn last_flush(app: &App, deadline: Instant) {
    let others_leave = Instant::now() + OTHERS_TIMEOUT;
    let last = async {
        // Twice: a flush that the stop cut short comes first, and takes nothing that came since.
        for _ in 0..2 {
            let mut outcome = flush(app).await;
            while outcome.is_shared && Instant::now() < others_leave {
                sleep(OTHERS_PAUSE).await;
                outcome = flush(app).await;
            }
            if let Some(error) = &outcome.failure {
                tracing::warn!(%error, "clicks are left to be written back after the next start");
            }
            if let Some(FlushError::Store(_)) = outcome.failure {
                break;
            }
        }
        if let Err(error) = app.flusher.release().await {
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
pub(super) async fn close(app: &App, deadline: Instant) {
    match timeout_at(deadline, app.store.database.close()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "the database is left as it is"),
        Err(_) => tracing::debug!("there was no time to put the database in order"),
    }
}
