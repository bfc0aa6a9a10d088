//! What was sent, answered and how fast.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

/// Gathers while the load runs.
#[derive(Default)]
pub(crate) struct Tally {
    /// Requests sent.
    pub(crate) sent: u64,
    /// Connections that broke, with or without a request on them.
    pub(crate) failed: u64,
    /// The greatest number of requests that were due while every connection was busy.
    pub(crate) waiting: usize,
    statuses: BTreeMap<u16, u64>,
    latencies: Vec<Duration>,
}

/// The outcome of a run; latencies in microseconds, from when a request fell due.
#[derive(Serialize)]
pub(crate) struct Report {
    seconds: f64,
    sent: u64,
    answered: usize,
    failed: u64,
    unanswered: usize,
    waiting: usize,
    statuses: BTreeMap<u16, u64>,
    p50: f64,
    p90: f64,
    p99: f64,
    p999: f64,
    max: f64,
}

impl Tally {
    /// Notes an answer.
    pub(crate) fn answered(&mut self, status: u16, latency: Duration) {
        *self.statuses.entry(status).or_default() += 1;
        self.latencies.push(latency);
    }

    /// Sums up.
    pub(crate) fn report(mut self, elapsed: Duration, unanswered: usize) -> Report {
        self.latencies.sort_unstable();
        let percentile = |permille: usize| {
            let index = (self.latencies.len() * permille / 1000)
                .min(self.latencies.len().saturating_sub(1));
            let latency = self.latencies.get(index).copied().unwrap_or_default();
            latency.as_secs_f64() * 1e6
        };
        Report {
            seconds: elapsed.as_secs_f64(),
            sent: self.sent,
            answered: self.latencies.len(),
            failed: self.failed,
            unanswered,
            waiting: self.waiting,
            p50: percentile(500),
            p90: percentile(900),
            p99: percentile(990),
            p999: percentile(999),
            max: percentile(1000),
            statuses: self.statuses,
        }
    }
}
