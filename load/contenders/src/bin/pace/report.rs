//! The report of a run: requests, responses and latency.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Result, Write};
use std::mem::take;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;

/// The number of responses by latency in microseconds, to two digits.
type Histogram = BTreeMap<u64, usize>;

/// The counters of a run.
#[derive(Default)]
pub(crate) struct Tally {
    /// Requests sent.
    pub(crate) sent: u64,
    /// Connections that broke, with or without a request on them.
    pub(crate) failed: u64,
    /// The greatest number of requests that were due while every connection was busy.
    waiting: usize,
    latencies: BTreeMap<u16, Vec<Duration>>,
    by_second: Option<BySecond>,
}

/// A file with a line for each second. What is in it is kept to two digits: a run may take hours.
struct BySecond {
    file: File,
    /// The number of the current second, and its end.
    second: u64,
    ends: Instant,
    waiting: usize,
    /// By status.
    past: BTreeMap<u16, Histogram>,
    slowest: Duration,
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
    /// So that several runs can be merged.
    histogram: Histogram,
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
        Self::at(|permille| {
            let index = (latencies.len() * permille / 1000).min(latencies.len().saturating_sub(1));
            let latency = latencies.get(index).copied().unwrap_or_default();
            latency.as_secs_f64() * 1e6
        })
    }

    /// To two digits, except the slowest.
    fn of_histogram(histogram: &Histogram, slowest: Duration) -> Self {
        let count: usize = histogram.values().sum();
        let to_two_digits = |permille: usize| {
            let mut faster = count * permille / 1000;
            let found = histogram.iter().find(|(_, count)| {
                let is_in = faster < **count;
                faster = faster.saturating_sub(**count);
                is_in
            });
            found.map_or(0, |(latency, _)| *latency)
        };
        Self {
            max: slowest.as_secs_f64() * 1e6,
            ..Self::at(|permille| {
                Duration::from_micros(to_two_digits(permille)).as_secs_f64() * 1e6
            })
        }
    }

    fn at(percentile: impl Fn(usize) -> f64) -> Self {
        Self {
            p50: percentile(500),
            p90: percentile(900),
            p99: percentile(990),
            p999: percentile(999),
            max: percentile(1000),
        }
    }
}

impl BySecond {
    fn create(path: &Path, begin: Instant) -> Result<Self> {
        let mut file = File::create(path)?;
        writeln!(
            file,
            "second,answered,refused,p50_us,p99_us,p999_us,max_us,waiting"
        )?;
        Ok(Self {
            file,
            second: 0,
            ends: begin + Duration::from_secs(1),
            waiting: 0,
            past: BTreeMap::new(),
            slowest: Duration::ZERO,
        })
    }

    /// Writes the line of the second that is over.
    fn end(&mut self, latencies: BTreeMap<u16, Vec<Duration>>) -> Result<()> {
        self.ends += Duration::from_secs(1);
        let (mut all, mut refused) = (Vec::new(), 0);
        for (status, latencies) in latencies {
            if status >= 400 {
                refused += latencies.len();
            }
            add(self.past.entry(status).or_default(), &latencies);
            all.extend(latencies);
        }
        self.slowest = all.iter().copied().fold(self.slowest, Duration::max);
        let (second, answered) = (self.second, all.len());
        self.second += 1;
        let Latencies {
            p50,
            p99,
            p999,
            max,
            ..
        } = Latencies::of(all);
        let waiting = take(&mut self.waiting);
        writeln!(
            self.file,
            "{second},{answered},{refused},{p50:.0},{p99:.0},{p999:.0},{max:.0},{waiting}"
        )
    }
}

impl Tally {
    /// With a file for each second from `begin` on, if there is a path.
    pub(crate) fn new(by_second: Option<&Path>, begin: Instant) -> Result<Self> {
        let by_second = by_second.map(|path| BySecond::create(path, begin));
        Ok(Self {
            by_second: by_second.transpose()?,
            ..Self::default()
        })
    }

    /// Records a response.
    pub(crate) fn answered(&mut self, status: u16, latency: Duration) {
        self.latencies.entry(status).or_default().push(latency);
    }

    /// Records the requests that are due while every connection is busy, and the end of a second.
    pub(crate) fn tick(&mut self, now: Instant, waiting: usize) -> Result<()> {
        self.waiting = self.waiting.max(waiting);
        if let Some(by_second) = &mut self.by_second {
            by_second.waiting = by_second.waiting.max(waiting);
            while now >= by_second.ends {
                by_second.end(take(&mut self.latencies))?;
            }
        }
        Ok(())
    }

    /// Sums up.
    pub(crate) fn report(self, elapsed: Duration, unanswered: usize) -> Report {
        let mut histograms = BTreeMap::new();
        let mut slowest = Duration::ZERO;
        let is_exact = self.by_second.is_none();
        if let Some(by_second) = self.by_second {
            (histograms, slowest) = (by_second.past, by_second.slowest);
        }
        let all: Vec<_> = self.latencies.values().flatten().copied().collect();
        slowest = all.iter().copied().fold(slowest, Duration::max);
        for (status, latencies) in &self.latencies {
            add(histograms.entry(*status).or_default(), latencies);
        }
        let mut histogram = Histogram::new();
        for (latency, count) in histograms.values().flatten() {
            *histogram.entry(*latency).or_default() += count;
        }
        let statuses: BTreeMap<_, usize> = histograms
            .iter()
            .map(|(status, histogram)| (*status, histogram.values().sum()))
            .collect();
        let (by_status, of_all) = if is_exact {
            let each = self.latencies.into_iter();
            let by_status = each.map(|(status, latencies)| (status, Latencies::of(latencies)));
            (by_status.collect(), Latencies::of(all))
        } else {
            let each = histograms.iter();
            let by_status =
                each.map(|(status, part)| (*status, Latencies::of_histogram(part, slowest)));
            (
                by_status.collect(),
                Latencies::of_histogram(&histogram, slowest),
            )
        };
        Report {
            seconds: elapsed.as_secs_f64(),
            sent: self.sent,
            answered: statuses.values().sum(),
            failed: self.failed,
            unanswered,
            waiting: self.waiting,
            statuses,
            by_status,
            of_all,
            histogram,
        }
    }
}

fn add(histogram: &mut Histogram, latencies: &[Duration]) {
    for latency in latencies {
        *histogram
            .entry(two_digits(latency.as_micros()))
            .or_default() += 1;
    }
}

/// Rounds to the first two digits, which is exact to a tenth.
fn two_digits(micros: u128) -> u64 {
    let micros = u64::try_from(micros).unwrap_or(u64::MAX);
    let unit = 10_u64.pow(micros.max(1).ilog10().saturating_sub(1));
    micros / unit * unit
}
