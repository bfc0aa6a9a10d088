//! The report of a run: requests, responses and latency.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

/// The counters of a run.
#[derive(Default)]
pub(crate) struct Tally {
    /// Requests sent.
    pub(crate) sent: u64,
    /// Connections that broke, with or without a request on them.
    pub(crate) failed: u64,
    /// The greatest number of requests that were due while every connection was busy.
    pub(crate) waiting: usize,
    latencies: BTreeMap<u16, Vec<Duration>>,
}

/// The outcome of a run; latencies in microseconds, from the moment when a request was due.
#[derive(Serialize)]
pub(crate) struct Report {
    seconds: f64,
    sent: u64,
    answered: usize,
    failed: u64,
    unanswered: usize,
    waiting: usize,
    statuses: BTreeMap<u16, usize>,
    /// Latencies of the responses of each status.
    by_status: BTreeMap<u16, Latencies>,
    #[serde(flatten)]
    of_all: Latencies,
    /// The number of responses by latency in microseconds, to two digits, so that several runs can be merged.
    histogram: BTreeMap<u64, usize>,
}

/// The latencies of some responses.
#[derive(Serialize)]
struct Latencies {
    p50: f64,
    p90: f64,
    p99: f64,
    p999: f64,
    max: f64,
}

impl Latencies {
    fn of(mut latencies: Vec<Duration>) -> Self {
        latencies.sort_unstable();
        let percentile = |permille: usize| {
            let index = (latencies.len() * permille / 1000).min(latencies.len().saturating_sub(1));
            let latency = latencies.get(index).copied().unwrap_or_default();
            latency.as_secs_f64() * 1e6
        };
        Self {
            p50: percentile(500),
            p90: percentile(900),
            p99: percentile(990),
            p999: percentile(999),
            max: percentile(1000),
        }
    }
}

impl Tally {
    /// Records a response.
    pub(crate) fn answered(&mut self, status: u16, latency: Duration) {
        self.latencies.entry(status).or_default().push(latency);
    }

    /// Sums up.
    pub(crate) fn report(self, elapsed: Duration, unanswered: usize) -> Report {
        let all: Vec<_> = self.latencies.values().flatten().copied().collect();
        let counts = self.latencies.iter();
        let statuses = counts
            .map(|(status, latencies)| (*status, latencies.len()))
            .collect();
        let mut histogram = BTreeMap::new();
        for latency in &all {
            *histogram
                .entry(two_digits(latency.as_micros()))
                .or_default() += 1;
        }
        let each = self.latencies.into_iter();
        Report {
            seconds: elapsed.as_secs_f64(),
            sent: self.sent,
            answered: all.len(),
            failed: self.failed,
            unanswered,
            waiting: self.waiting,
            statuses,
            by_status: each
                .map(|(status, latencies)| (status, Latencies::of(latencies)))
                .collect(),
            of_all: Latencies::of(all),
            histogram,
        }
    }
}

/// Rounds to the first two digits, which is exact to a tenth.
fn two_digits(micros: u128) -> u64 {
    let micros = u64::try_from(micros).unwrap_or(u64::MAX);
    let unit = 10_u64.pow(micros.max(1).ilog10().saturating_sub(1));
    micros / unit * unit
}
