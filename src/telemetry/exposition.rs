//! The recorder behind `/metrics`: the bounds of its histograms, what is there from the start, and the text.

use metrics::{counter, gauge};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

use super::cpu::{CpuOfProcess, CpuOfWorker, CpuOfWorkers};
use super::histogram::HistogramOfWorkers;
use super::metrics::{
    BATCH_CLICKS, BATCHES, BUILD_INFO, BULK_LINKS, CLASSES_COMPUTED, CLASSES_DROPPED,
    CLASSES_UNKNOWN, DATABASE_ERRORS, DATABASE_OPERATIONS, DATABASE_ROLLED_BACK, FLUSH_ERRORS,
    GRANTED, GRANTS_UNUSED, LIMIT_HITS, MEMORY_ONLY, describe,
};

/// Bounds of durations, in seconds: a warm redirect takes tenths of a millisecond, a log-in tens of milliseconds.
const DURATION_BOUNDS: [f64; 14] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
];

/// Bounds of batch sizes.
const SIZE_BOUNDS: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 1_024.0];

pub(super) static REDIRECT_DURATIONS: HistogramOfWorkers = HistogramOfWorkers::new(
    "shunt_redirect_duration_seconds",
    "Time to answer a request on the redirect path, with any result; of a 302 until its click is acknowledged",
    &DURATION_BOUNDS,
);

/// CPU time, in seconds with a fraction: the counters of the recorder behind `/metrics` are whole numbers.
static WORKER_CPU: CpuOfWorkers = CpuOfWorkers::new(
    "shunt_worker_cpu_seconds_total",
    "CPU time of the threads that serve redirects and the connections of all clients",
);
static PROCESS_CPU: CpuOfProcess = CpuOfProcess {
    name: "shunt_cpu_seconds_total",
    help: "CPU time of the process",
};

/// The CPU time of one more worker.
#[must_use]
pub fn cpu_of_worker() -> CpuOfWorker {
    WORKER_CPU.for_worker()
}

/// Renders all metrics; cheap to clone.
#[derive(Clone)]
pub struct Exposition(PrometheusHandle);

impl Exposition {
    /// In the text format of Prometheus.
    #[must_use]
    pub fn render(&self) -> String {
        [
            self.0.render(),
            REDIRECT_DURATIONS.render(),
            WORKER_CPU.render(),
            PROCESS_CPU.render(),
        ]
        .concat()
    }

    /// Bounds the memory of samples that are not scraped. To be called every few seconds.
    pub fn run_upkeep(&self) {
        self.0.run_upkeep();
    }
}

/// Starts to collect metrics.
///
/// # Errors
/// When this process has a recorder of metrics already.
pub fn start() -> Result<Exposition, BuildError> {
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &DURATION_BOUNDS)?
        .set_buckets_for_metric(Matcher::Full(BATCH_CLICKS.into()), &SIZE_BOUNDS)?
        .set_buckets_for_metric(Matcher::Full(BULK_LINKS.into()), &SIZE_BOUNDS)?
        .install_recorder()?;
    describe();
    let (version, revision) = (env!("CARGO_PKG_VERSION"), env!("SHUNT_REVISION"));
    gauge!(BUILD_INFO, "version" => version, "revision" => revision).set(1);
    start_at_zero();
    Ok(Exposition(handle))
}

/// Every limit by which requests are refused.
const LIMITS: [&str; 34] = [
    "connections",
    "requests",
    "requests_of_client",
    "request_time",
    "header_size",
    "header_time",
    "body_size",
    "body_time",
    "bodies_of_client",
    "buffers",
    "buffers_of_client",
    "lists",
    "read_rate",
    "database_queue",
    "hashing",
    "hashing_links",
    "link_password_failures",
    "link_failures",
    "login",
    "login_failures",
    "account_failures",
    "register",
    "create",
    "bulk",
    "bulk_calls",
    "live",
    "searches",
    "misses",
    "report",
    "links_of_account",
    "accounts_of_day",
    "bytes_of_day",
    "database_size",
    "connections_of_address",
];

/// Every outcome of a batch, by sink.
const OUTCOMES: [(&str, &str); 6] = [
    ("redis", "acknowledged"),
    ("redis", "refused"),
    ("redis", "overtaken"),
    ("redis", "in_doubt"),
    ("journal", "acknowledged"),
    ("journal", "failed"),
];

/// Exports counters from the start, with each value of their labels. Otherwise the first event would be no increase, and
/// panels would show no data. The redirect path, the routes and the shards of Redis add theirs.
fn start_at_zero() {
    for name in [
        DATABASE_OPERATIONS,
        DATABASE_ERRORS,
        DATABASE_ROLLED_BACK,
        FLUSH_ERRORS,
        GRANTED,
        CLASSES_COMPUTED,
        CLASSES_DROPPED,
    ] {
        counter!(name).increment(0);
    }
    for limit in LIMITS {
        counter!(LIMIT_HITS, "limit" => limit).increment(0);
    }
    for (sink, outcome) in OUTCOMES {
        counter!(BATCHES, "sink" => sink, "outcome" => outcome).increment(0);
    }
    for reason in [
        "opt_out",
        "bound",
        "budget",
        "memory",
        "redis_room",
        "database_room",
    ] {
        counter!(CLASSES_UNKNOWN, "reason" => reason).increment(0);
    }
    gauge!(MEMORY_ONLY).set(0);
    gauge!(GRANTS_UNUSED).set(0);
}
