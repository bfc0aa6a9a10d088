//! The histogram of the redirect path.
//!
//! The recorder behind `/metrics` keeps every sample until it is rendered. At a hundred thousand redirects a second, that is
//! megabytes of memory and most of the cost of a metric. Here a sample is two additions to counters of the worker.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Number of observations in each bucket, of one worker.
#[derive(Debug)]
pub struct WorkerHistogram {
    /// One counter per bound, and another counter for samples above the last bound.
    counts: Vec<AtomicU64>,
    nanoseconds: AtomicU64,
    bounds: &'static [f64],
}

/// A metric that sums the histograms of all workers.
#[derive(Debug)]
pub struct HistogramOfWorkers {
    name: &'static str,
    help: &'static str,
    bounds: &'static [f64],
    workers: Mutex<Vec<Arc<WorkerHistogram>>>,
}

impl WorkerHistogram {
    /// Adds a sample.
    pub fn record(&self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        let bucket = self
            .bounds
            .iter()
            .take_while(|bound| seconds > **bound)
            .count();
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        if let Some(count) = self.counts.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }
}

impl HistogramOfWorkers {
    /// A metric without samples; `bounds` in seconds, rising.
    #[must_use]
    pub const fn new(name: &'static str, help: &'static str, bounds: &'static [f64]) -> Self {
        Self {
            name,
            help,
            bounds,
            workers: Mutex::new(Vec::new()),
        }
    }

    /// The histogram of one more worker.
    pub fn for_worker(&self) -> Arc<WorkerHistogram> {
        let histogram = Arc::new(WorkerHistogram {
            counts: (0..=self.bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            nanoseconds: AtomicU64::new(0),
            bounds: self.bounds,
        });
        self.workers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Arc::clone(&histogram));
        histogram
    }

    /// In the text format of Prometheus.
    #[must_use]
    pub fn render(&self) -> String {
        let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = |of: &dyn Fn(&WorkerHistogram) -> u64| {
            workers.iter().map(|worker| of(worker)).sum::<u64>()
        };
        let name = self.name;
        let mut text = format!("# HELP {name} {}\n# TYPE {name} histogram\n", self.help);
        let mut count = 0;
        let bounds = self
            .bounds
            .iter()
            .map(f64::to_string)
            .chain(["+Inf".into()]);
        for (bucket, bound) in bounds.enumerate() {
            count += sum(&|worker| worker.counts[bucket].load(Ordering::Relaxed));
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name}_bucket{{le=\"{bound}\"}} {count}");
        }
        let nanoseconds = sum(&|worker| worker.nanoseconds.load(Ordering::Relaxed));
        let seconds = Duration::from_nanos(nanoseconds).as_secs_f64();
        let _ = writeln!(text, "{name}_sum {seconds}\n{name}_count {count}\n");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_samples_of_all_workers_are_added_up() {
        let all = HistogramOfWorkers::new("shunt_x_seconds", "Time.", &[0.001, 0.01]);
        let (first, second) = (all.for_worker(), all.for_worker());
        first.record(Duration::from_millis(1));
        second.record(Duration::from_millis(2));
        second.record(Duration::from_secs(1));
        assert_eq!(
            all.render(),
            "# HELP shunt_x_seconds Time.\n# TYPE shunt_x_seconds histogram\n\
             shunt_x_seconds_bucket{le=\"0.001\"} 1\nshunt_x_seconds_bucket{le=\"0.01\"} 2\n\
             shunt_x_seconds_bucket{le=\"+Inf\"} 3\nshunt_x_seconds_sum 1.003\nshunt_x_seconds_count 3\n\n"
        );
    }
}
