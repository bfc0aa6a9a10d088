//! Every metric: name, type, unit and help; and what their values are made of.
//!
//! Names follow Prometheus' conventions: base units, `_total` on counters. Routes are templates, never raw paths. The metrics
//! of the redirect path are in `redirects`, and the recorder behind `/metrics` in `exposition`.

use metrics::{
    Counter, Gauge, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge,
};

use crate::domain::Shard;

/// Declares metrics: each line becomes the constant with its name, and its comment the help text in `/metrics`.
macro_rules! metrics {
    ($($(#[doc = $help:literal])+ $kind:ident $name:ident = $text:literal $($unit:ident)?;)+) => {
        $($(#[doc = $help])+ pub const $name: &str = $text;)+

        pub(super) fn describe() {
            $(metrics!(@$kind $name, $(Unit::$unit,)? concat!($($help),+).trim().trim_end_matches('.'));)+
        }
    };
    (@counter $($described:tt)+) => { describe_counter!($($described)+) };
    (@gauge $($described:tt)+) => { describe_gauge!($($described)+) };
    (@histogram $($described:tt)+) => { describe_histogram!($($described)+) };
}

metrics! {
    /// Answered requests, except plain redirects. A redirect whose code needs decoding is counted here and as a redirect.
    counter HTTP_REQUESTS = "shunt_http_requests_total";
    /// Time to answer such a request.
    histogram HTTP_DURATION = "shunt_http_request_duration_seconds" Seconds;
    /// Requests on the redirect path by result.
    counter REDIRECTS = "shunt_redirects_total";
    /// Visits that were sent to the `fallback_url` of their link, by the reason why the link was not followed. They are not clicks.
    counter FALLBACKS = "shunt_fallbacks_total";
    /// Passwords that visitors gave for links, by what became of them.
    counter LINK_PASSWORDS = "shunt_link_passwords_total";
    /// Sign-ins by the identity provider, by what became of them.
    counter PROVIDER_SIGN_INS = "shunt_provider_sign_ins_total";
    /// Mails by what became of them: sent, failed (given up), or dropped (the queue was full, or the service stopped).
    counter MAILS = "shunt_mails_total";
    /// Clients that watch the count of a link.
    gauge LIVE_LISTENERS = "shunt_live_listeners";
    /// Clients that wait for events.
    gauge EVENT_READERS = "shunt_event_readers";
    /// How long ago all that had happened was in the feeds of events.
    gauge EVENTS_LAG = "shunt_events_lag_seconds" Seconds;
    /// Hooks of all accounts by their state; one is failing while its receiver takes nothing.
    gauge HOOKS = "shunt_hooks";
    /// Deliveries to receivers of hooks, by result.
    counter HOOK_DELIVERIES = "shunt_hook_deliveries_total";
    /// Deliveries that wait, of all hooks.
    gauge HOOK_WAITING = "shunt_hook_deliveries_waiting";
    /// How long the oldest event waits that was not sent to a receiver that works, apart from links whose events it refused.
    gauge HOOKS_LAG = "shunt_hooks_lag_seconds" Seconds;
    /// Links per call that creates many links.
    histogram BULK_LINKS = "shunt_bulk_links";
    /// Entries of the blocklist in force.
    gauge BLOCKLIST_ENTRIES = "shunt_blocklist_entries";
    /// 1 while the blocklist file has an invalid line or cannot be read, and the previous list is in force.
    gauge BLOCKLIST_INVALID = "shunt_blocklist_invalid";
    /// Click batches by sink and outcome.
    counter BATCHES = "shunt_click_batches_total";
    /// Clicks per batch.
    histogram BATCH_CLICKS = "shunt_click_batch_clicks";
    /// Time until a sink acknowledged a batch.
    histogram BATCH_ACK = "shunt_click_batch_ack_seconds" Seconds;
    /// Answered clicks that are only in the memory of this process.
    gauge MEMORY_ONLY = "shunt_clicks_memory_only";
    /// Clicks granted to visitors of links with `max_clicks`, and counted.
    counter GRANTED = "shunt_clicks_granted_total";
    /// Granted clicks whose visitors left too early: the next visitors of their links get them.
    gauge GRANTS_UNUSED = "shunt_clicks_granted_unused";
    /// Clicks in batches that Redis may or may not have applied.
    gauge IN_DOUBT = "shunt_clicks_in_doubt";
    /// Clicks that the newest flush of this instance wrote back.
    gauge LAST_FLUSH_CLICKS = "shunt_last_flush_clicks";
    /// Links with clicks in Redis that are not yet written back.
    gauge PENDING_LINKS = "shunt_redis_pending_links";
    /// Batches in the journal of the database, in Postgres only parked batches; past 100,000 they are not counted.
    gauge JOURNAL_BATCHES = "shunt_journal_batches";
    /// Rows of clicks in Postgres that are not merged into the counts of links yet, each of up to 128 links; past 100,000 they are not counted.
    gauge CLICK_PARTS = "shunt_click_parts";
    /// Flushes that are written to Postgres and not merged yet, of the data set with the most; from eight on, the next flush waits in Redis.
    gauge FLUSHES_UNMERGED = "shunt_flushes_unmerged";
    /// Changes of links that this instance must publish and has not yet published; past 100,000 they are not counted.
    gauge OUTBOX_CHANGES = "shunt_outbox_changes";
    /// Characters of the codes that new links get.
    gauge CODE_LENGTH = "shunt_code_length";
    /// Size of the database; for SQLite without free pages and with its log.
    gauge DATABASE_BYTES = "shunt_database_bytes" Bytes;
    /// The size from which on new data is refused (`DATABASE_MAX_MIB`); missing without a limit.
    gauge DATABASE_BYTES_MAX = "shunt_database_max_bytes" Bytes;
    /// Size of the SQLite files.
    gauge SQLITE_BYTES = "shunt_sqlite_bytes" Bytes;
    /// Free space on the disk of SQLite.
    gauge SQLITE_DISK_FREE = "shunt_sqlite_disk_free_bytes" Bytes;
    /// Size of the disk of SQLite.
    gauge SQLITE_DISK = "shunt_sqlite_disk_bytes" Bytes;
    /// Time since this instance wrote back everything that was pending in a shard. Another instance may flush the
    /// shard, so the minimum over all instances is how long clicks wait.
    gauge PENDING_OLDEST = "shunt_clicks_pending_oldest_seconds" Seconds;
    /// Duration of a flush.
    histogram FLUSH_DURATION = "shunt_flush_duration_seconds" Seconds;
    /// Rows of links to which clicks were written back.
    counter FLUSHED_LINKS = "shunt_flushed_links_total";
    /// Clicks written back to links.
    counter FLUSHED_CLICKS = "shunt_flushed_clicks_total";
    /// Flushes that failed and are tried again.
    counter FLUSH_ERRORS = "shunt_flush_errors_total";
    /// 1 while Redis is up, 0 while it is away.
    gauge REDIS_UP = "shunt_redis_up";
    /// How often Redis lost data or was rolled back: clicks pending in it may be lost.
    counter REDIS_DATA_LOST = "shunt_redis_data_lost_total";
    /// How often Redis was rolled back: clicks pending in it were dropped, because they may be counted already, or
    /// clicks that it had acknowledged are lost.
    counter REDIS_ROLLED_BACK = "shunt_redis_rolled_back_total";
    /// Clicks in doubt that were dropped, because the Redis epoch to which they were sent has ended.
    counter CLICKS_DROPPED = "shunt_clicks_in_doubt_dropped_total";
    /// Visitor classes that a worker computed, because it did not have them in memory.
    counter CLASSES_COMPUTED = "shunt_click_classes_computed_total";
    /// Clicks whose visitor class is unknown, or only known in part, by reason; they are counted.
    counter CLASSES_UNKNOWN = "shunt_clicks_unclassified_total";
    /// Batches and parts of flushes whose classes are missing in breakdowns, because too many of them waited in the database.
    counter CLASSES_DROPPED = "shunt_click_classes_dropped_total";
    /// Age of the data in `GEOIP_DATABASE`.
    gauge COUNTRIES_AGE = "shunt_geoip_age_seconds" Seconds;
    /// 1 while the configured Redis is not used because another server keeps the data set now, otherwise 0.
    gauge REDIS_SUPERSEDED = "shunt_redis_superseded";
    /// How often Redis went away.
    counter REDIS_OUTAGES = "shunt_redis_outages_total";
    /// Commands and script calls sent to Redis.
    counter REDIS_COMMANDS = "shunt_redis_commands_total";
    /// Redis commands that were refused or had no response in time.
    counter REDIS_ERRORS = "shunt_redis_errors_total";
    /// Connections to Redis that occasional commands share, by state; and tasks that wait for a connection.
    gauge REDIS_CONNECTIONS = "shunt_redis_pool_connections";
    /// Max connections to Redis that occasional commands share.
    gauge REDIS_CONNECTIONS_MAX = "shunt_redis_pool_connections_max";
    /// 1 while the database responds, 0 while it does not.
    gauge DATABASE_UP = "shunt_database_up";
    /// How often the database was rolled back, by a fail-over or a restored backup: the newest writes are lost.
    counter DATABASE_ROLLED_BACK = "shunt_database_rolled_back_total";
    /// Connections to the database by state; and tasks that wait for a connection.
    gauge DATABASE_CONNECTIONS = "shunt_database_connections";
    /// Max connections to the database.
    gauge DATABASE_CONNECTIONS_MAX = "shunt_database_connections_max";
    /// Connections to the database that may be used at the moment, except by redirects: under load only as many as make it
    /// faster.
    gauge DATABASE_CONNECTIONS_LIMIT = "shunt_database_connections_limit";
    /// 1 while the replica of the database is up, 0 while it is away.
    gauge REPLICA_UP = "shunt_database_replica_up";
    /// How far the replica is behind the primary; 0 if it has everything.
    gauge REPLICA_LAG = "shunt_database_replica_lag_seconds" Seconds;
    /// Connections to the replica by state; and tasks that wait for a connection.
    gauge REPLICA_CONNECTIONS = "shunt_database_replica_connections";
    /// Max connections to the replica.
    gauge REPLICA_CONNECTIONS_MAX = "shunt_database_replica_connections_max";
    /// Look-ups of redirects in the database by the server whose response was used.
    counter LOOKUPS = "shunt_database_lookups_total";
    /// Operations requested of the database.
    counter DATABASE_OPERATIONS = "shunt_database_operations_total";
    /// Operations that the database refused or did not respond to in time.
    counter DATABASE_ERRORS = "shunt_database_errors_total";
    /// Links cached in the process.
    gauge CACHE_LINKS = "shunt_cache_links";
    /// Memory of the links, and of the codes without a link, that are cached in the process; an estimate.
    gauge CACHE_BYTES = "shunt_cache_bytes";
    /// Links evicted from the cache of the process.
    counter CACHE_EVICTIONS = "shunt_cache_evictions_total";
    /// Passwords that are being hashed, or wait to be hashed.
    gauge HASHING = "shunt_password_hashing";
    /// Passwords hashed, at registrations and log-ins, and for links.
    counter HASHES = "shunt_password_hashes_total";
    /// Requests and connections refused, and clients that read too slowly cut off, by a limit.
    counter LIMIT_HITS = "shunt_limit_hits_total";
    /// Threads of the main runtime.
    gauge RUNTIME_WORKERS = "shunt_runtime_workers";
    /// Tasks alive on the main runtime.
    gauge RUNTIME_TASKS = "shunt_runtime_alive_tasks";
    /// Tasks waiting for a thread of the main runtime.
    gauge RUNTIME_QUEUE = "shunt_runtime_global_queue_depth";
    /// Open connections of clients.
    gauge CONNECTIONS = "shunt_connections";
    /// Always 1; version and revision are in the labels.
    gauge BUILD_INFO = "shunt_build_info";
}

/// Exports the metrics of a shard of Redis from the start.
pub fn start_shard_at_zero(shard: Shard) {
    for name in [
        REDIS_OUTAGES,
        REDIS_COMMANDS,
        REDIS_ERRORS,
        REDIS_DATA_LOST,
        REDIS_ROLLED_BACK,
        CLICKS_DROPPED,
    ] {
        counter_of_shard(name, shard).increment(0);
    }
    gauge_of_shard(IN_DOUBT, shard).set(0);
}

/// The counter of a shard of Redis.
pub fn counter_of_shard(name: &'static str, shard: Shard) -> Counter {
    counter!(name, "shard" => shard.index().to_string())
}

/// The gauge of a shard of Redis.
pub fn gauge_of_shard(name: &'static str, shard: Shard) -> Gauge {
    gauge!(name, "shard" => shard.index().to_string())
}

/// A count as metrics take it: exact up to 2^32, and no more than that.
#[must_use]
pub fn bounded(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// A number of bytes as metrics take it: exact up to 2^52, and beyond that to a share of a billionth.
#[must_use]
pub fn bytes(count: u64) -> f64 {
    const HIGH: f64 = 4_294_967_296.0;
    let [high, low] = [count >> 32, count & u64::from(u32::MAX)].map(bounded);
    high * HIGH + low
}

/// The connections of a pool at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connections {
    /// In use.
    pub in_use: u32,
    /// Open and not in use.
    pub idle: u32,
    /// Tasks that wait for a connection.
    pub waiting: u32,
    /// Max open connections.
    pub max: u32,
    /// How many of them are used at once at present, except by redirects.
    pub limit: u32,
}

impl Connections {
    /// The connections of a deadpool pool.
    #[must_use]
    pub fn of(status: &deadpool::Status) -> Self {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            in_use: count(status.size.saturating_sub(status.available)),
            idle: count(status.available),
            waiting: count(status.waiting),
            max: count(status.max_size),
            limit: count(status.max_size),
        }
    }

    /// Sets the gauges with these names.
    pub fn report(self, by_state: &'static str, max: &'static str) {
        gauge!(by_state, "state" => "in_use").set(self.in_use);
        gauge!(by_state, "state" => "idle").set(self.idle);
        gauge!(by_state, "state" => "waiting").set(self.waiting);
        gauge!(max).set(self.max);
    }
}

impl std::ops::Add for Connections {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            in_use: self.in_use + other.in_use,
            idle: self.idle + other.idle,
            waiting: self.waiting + other.waiting,
            max: self.max + other.max,
            limit: self.limit + other.limit,
        }
    }
}

/// Adds one to a gauge until it is dropped.
pub struct GaugeGuard(Gauge);

impl GaugeGuard {
    /// Adds one to the gauge.
    #[must_use]
    pub fn new(gauge: Gauge) -> Self {
        gauge.increment(1);
        Self(gauge)
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.decrement(1);
    }
}
