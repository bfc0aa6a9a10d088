//! Every metric: name, type, unit and help; and the recorder behind `/metrics`.
//!
//! Names follow Prometheus' conventions: base units, `_total` on counters. Routes are templates, never
//! raw paths. The handles of the redirect's road are in `road`.

use metrics::{Gauge, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

use super::durations::DurationsOfAll;

/// Requests that the router answered: all but plain redirects; one whose code needs decoding is among
/// [`REDIRECTS`] and here. Labels: method, route, status.
pub const HTTP_REQUESTS: &str = "shunt_http_requests_total";
/// How long those took. Label: route.
pub const HTTP_DURATION: &str = "shunt_http_request_duration_seconds";
/// Redirects by result.
pub const REDIRECTS: &str = "shunt_redirects_total";
/// From parsing the code to the answer: of a 302 the acknowledgement of its click.
pub const REDIRECT_DURATION: &str = "shunt_redirect_duration_seconds";
/// Batches by sink and outcome.
pub const BATCHES: &str = "shunt_click_batches_total";
/// Clicks per batch.
pub const BATCH_CLICKS: &str = "shunt_click_batch_clicks";
/// From sending a batch to its acknowledgement. Label: sink.
pub const BATCH_ACK: &str = "shunt_click_batch_ack_seconds";
/// Clicks in the memory of this process alone.
pub const MEMORY_ONLY: &str = "shunt_clicks_memory_only";
/// Clicks of batches that Redis did not answer.
pub const IN_DOUBT: &str = "shunt_clicks_in_doubt";
/// Clicks that this instance's newest flush wrote back.
pub const PENDING: &str = "shunt_clicks_pending";
/// How long ago this instance wrote back all that waited in a shard: of a shard that another one flushes it tells
/// nothing. Label: shard.
pub const PENDING_OLDEST: &str = "shunt_clicks_pending_oldest_seconds";
/// Duration of a flush.
pub const FLUSH_DURATION: &str = "shunt_flush_duration_seconds";
/// Links written back to.
pub const FLUSHED_LINKS: &str = "shunt_flushed_links_total";
/// Clicks written back.
pub const FLUSHED_CLICKS: &str = "shunt_flushed_clicks_total";
/// Flushes that failed and are tried again.
pub const FLUSH_ERRORS: &str = "shunt_flush_errors_total";
/// 1 while Redis is up.
pub const REDIS_UP: &str = "shunt_redis_up";
/// Times that Redis was found emptied, or older than it was.
pub const REDIS_EMPTIED: &str = "shunt_redis_emptied_total";
/// Times that Redis was found older than it was.
pub const REDIS_STEPPED_BACK: &str = "shunt_redis_stepped_back_total";
/// Clicks in doubt that were given up.
pub const CLICKS_DROPPED: &str = "shunt_clicks_in_doubt_dropped_total";
/// Failed Redis commands.
pub const REDIS_ERRORS: &str = "shunt_redis_errors_total";
/// Connections of the pool to Redis by state.
pub const REDIS_CONNECTIONS: &str = "shunt_redis_pool_connections";
/// Most connections of that pool.
pub const REDIS_CONNECTIONS_MAX: &str = "shunt_redis_pool_connections_max";
/// 1 while the database answers.
pub const DATABASE_UP: &str = "shunt_database_up";
/// Connections to the database by state.
pub const DATABASE_CONNECTIONS: &str = "shunt_database_connections";
/// Most connections to the database.
pub const DATABASE_CONNECTIONS_MAX: &str = "shunt_database_connections_max";
/// 1 while the replica of the database is up.
pub const REPLICA_UP: &str = "shunt_database_replica_up";
/// For how long the replica has not had what the primary had.
pub const REPLICA_LAG: &str = "shunt_database_replica_lag_seconds";
/// Connections to the replica by state.
pub const REPLICA_CONNECTIONS: &str = "shunt_database_replica_connections";
/// Most connections to the replica.
pub const REPLICA_CONNECTIONS_MAX: &str = "shunt_database_replica_connections_max";
/// Look-ups of redirects in the database by who answered.
pub const LOOKUPS: &str = "shunt_database_lookups_total";
/// Failed database operations.
pub const DATABASE_ERRORS: &str = "shunt_database_errors_total";
/// Links held in the process.
pub const CACHE_LINKS: &str = "shunt_cache_links";
/// Links pushed out of the process by others.
pub const CACHE_EVICTIONS: &str = "shunt_cache_evictions_total";
/// Passwords being hashed and waiting for it.
pub const HASHING: &str = "shunt_password_hashing";
/// Passwords hashed so far.
pub const HASHES: &str = "shunt_password_hashes_total";
/// Requests refused by a limit.
pub const LIMIT_HITS: &str = "shunt_limit_hits_total";
/// Threads of the main runtime.
pub const RUNTIME_WORKERS: &str = "shunt_runtime_workers";
/// Tasks alive on the main runtime.
pub const RUNTIME_TASKS: &str = "shunt_runtime_alive_tasks";
/// Tasks that wait for a thread of the main runtime.
pub const RUNTIME_QUEUE: &str = "shunt_runtime_global_queue_depth";
/// Open connections.
pub const CONNECTIONS: &str = "shunt_connections";

/// Bounds of durations, in seconds: a warm redirect takes tenths of a millisecond, a login tens of them.
const DURATION_BOUNDS: [f64; 14] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
];

/// Bounds of batch sizes.
const SIZE_BOUNDS: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 1_024.0];

pub(super) static REDIRECT_DURATIONS: DurationsOfAll = DurationsOfAll::new(
    REDIRECT_DURATION,
    "Time to answer a redirect, whatever the answer; of a 302 until its click is acknowledged",
    &DURATION_BOUNDS,
);

/// Renders all metrics; cheap to clone.
#[derive(Clone)]
pub struct Exposition(PrometheusHandle);

impl Exposition {
    /// In the text format of Prometheus.
    #[must_use]
    pub fn render(&self) -> String {
        self.0.render() + &REDIRECT_DURATIONS.render()
    }

    /// To be called now and then: bounds the memory of samples that nobody asks for.
    pub fn run_upkeep(&self) {
        self.0.run_upkeep();
    }
}

/// Begins to collect metrics.
///
/// # Errors
/// When this process collects them elsewhere already.
pub fn start() -> Result<Exposition, BuildError> {
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &DURATION_BOUNDS)?
        .set_buckets_for_metric(Matcher::Full(BATCH_CLICKS.into()), &SIZE_BOUNDS)?
        .install_recorder()?;
    describe();
    gauge!("shunt_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1);
    begin_at_zero();
    Ok(Exposition(handle))
}

/// What should never happen is there before it does: otherwise its first time is no increase, and what shows it
/// shows no data.
fn begin_at_zero() {
    for name in [
        DATABASE_ERRORS,
        FLUSH_ERRORS,
        REDIS_ERRORS,
        REDIS_EMPTIED,
        REDIS_STEPPED_BACK,
        CLICKS_DROPPED,
    ] {
        counter!(name).increment(0);
    }
    for name in [MEMORY_ONLY, IN_DOUBT] {
        gauge!(name).set(0);
    }
}

fn describe() {
    describe_counter!(HTTP_REQUESTS, "Answered requests, except plain redirects");
    describe_histogram!(HTTP_DURATION, Unit::Seconds, "Time to answer a request");
    describe_counter!(REDIRECTS, "Requests on the redirect's road by result");
    describe_counter!(BATCHES, "Click batches by sink and outcome");
    describe_histogram!(BATCH_CLICKS, "Clicks per batch");
    describe_histogram!(
        BATCH_ACK,
        Unit::Seconds,
        "Time until a sink acknowledged a batch"
    );
    describe_gauge!(
        MEMORY_ONLY,
        "Answered clicks that no sink has acknowledged yet"
    );
    describe_gauge!(
        IN_DOUBT,
        "Clicks in batches that Redis may or may not have applied"
    );
    describe_gauge!(
        PENDING,
        "Clicks that the newest flush of this instance wrote back"
    );
    describe_gauge!(
        PENDING_OLDEST,
        Unit::Seconds,
        "Time since this instance wrote back what was pending in a shard; the least of all instances tells how long clicks wait"
    );
    describe_histogram!(FLUSH_DURATION, Unit::Seconds, "Duration of a flush");
    describe_counter!(
        FLUSHED_LINKS,
        "Rows of links that clicks were written back to"
    );
    describe_counter!(FLUSHED_CLICKS, "Clicks written back to links");
    describe_counter!(FLUSH_ERRORS, "Flushes that failed and are tried again");
    describe_gauge!(REDIS_UP, "1 while Redis is up, 0 while it is away");
    describe_counter!(
        REDIS_EMPTIED,
        "How often Redis was found emptied, or older than it was: clicks pending in it may be lost"
    );
    describe_counter!(
        REDIS_STEPPED_BACK,
        "How often Redis came back older than it was: clicks pending in it were dropped, as they may be counted already"
    );
    describe_counter!(
        CLICKS_DROPPED,
        "Clicks in doubt that were dropped, as the Redis data set they were sent to is gone"
    );
    describe_counter!(
        REDIS_ERRORS,
        "Redis commands that were refused or not answered in time"
    );
    describe_gauge!(
        REDIS_CONNECTIONS,
        "Connections to Redis that occasional commands share, by state; and what waits for one"
    );
    describe_gauge!(
        REDIS_CONNECTIONS_MAX,
        "Most connections to Redis that occasional commands share"
    );
    describe_gauge!(
        DATABASE_CONNECTIONS,
        "Connections to the database by state; and what waits for one"
    );
    describe_gauge!(DATABASE_CONNECTIONS_MAX, "Most connections to the database");
    describe_gauge!(
        DATABASE_UP,
        "1 while the database answers, 0 while it does not"
    );
    describe_gauge!(
        REPLICA_UP,
        "1 while the replica of the database is up, 0 while it is away"
    );
    describe_gauge!(
        REPLICA_LAG,
        Unit::Seconds,
        "For how long the replica has not had what the primary had; 0 where it has all"
    );
    describe_gauge!(REPLICA_CONNECTIONS, "Connections to the replica by state");
    describe_gauge!(REPLICA_CONNECTIONS_MAX, "Most connections to the replica");
    describe_counter!(
        LOOKUPS,
        "Look-ups of redirects in the database by the server that was believed"
    );
    describe_counter!(
        DATABASE_ERRORS,
        "Operations that the database refused or did not answer in time"
    );
    describe_gauge!(CACHE_LINKS, "Links held in the process");
    describe_counter!(CACHE_EVICTIONS, "Links pushed out of the process by others");
    describe_gauge!(HASHING, "Passwords being hashed, and waiting to be");
    describe_counter!(HASHES, "Passwords hashed, to keep or to check them");
    describe_counter!(LIMIT_HITS, "Requests refused by a limit");
    describe_gauge!(RUNTIME_WORKERS, "Threads of the main runtime");
    describe_gauge!(RUNTIME_TASKS, "Tasks alive on the main runtime");
    describe_gauge!(
        RUNTIME_QUEUE,
        "Tasks waiting for a thread of the main runtime"
    );
    describe_gauge!(CONNECTIONS, "Open connections of clients");
    describe_gauge!("shunt_build_info", "Always 1; the version is in the label");
}

/// A count as metrics keep it: exact up to 2^32.
#[must_use]
pub fn bounded(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// The connections of a pool at some moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connections {
    /// Doing something.
    pub in_use: u32,
    /// Open and doing nothing.
    pub idle: u32,
    /// Not connections but what waits for one.
    pub waiting: u32,
    /// Most that may be open.
    pub most: u32,
}

impl Connections {
    /// Those of a pool of deadpool's.
    #[must_use]
    pub fn of(status: &deadpool::Status) -> Self {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            in_use: count(status.size.saturating_sub(status.available)),
            idle: count(status.available),
            waiting: count(status.waiting),
            most: count(status.max_size),
        }
    }

    /// Sets the gauges of these names.
    pub fn tell(self, by_state: &'static str, most: &'static str) {
        gauge!(by_state, "state" => "in_use").set(self.in_use);
        gauge!(by_state, "state" => "idle").set(self.idle);
        gauge!(by_state, "state" => "waiting").set(self.waiting);
        gauge!(most).set(self.most);
    }
}

impl std::ops::Add for Connections {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            in_use: self.in_use + other.in_use,
            idle: self.idle + other.idle,
            waiting: self.waiting + other.waiting,
            most: self.most + other.most,
        }
    }
}

/// One more in a gauge, until it is dropped: however what is counted ends.
pub struct Gauged(Gauge);

impl Gauged {
    /// One more from now on.
    #[must_use]
    pub fn new(gauge: Gauge) -> Self {
        gauge.increment(1);
        Self(gauge)
    }
}

impl Drop for Gauged {
    fn drop(&mut self) {
        self.0.decrement(1);
    }
}
