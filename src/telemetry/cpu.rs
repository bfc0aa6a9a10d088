//! CPU time of the workers and of the process.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The CPU time of one worker's thread, which notes it itself.
#[derive(Debug)]
pub struct CpuOfWorker(Arc<AtomicU64>);

impl CpuOfWorker {
    /// Notes the CPU time of the calling thread.
    pub fn note(&self) {
        self.0
            .store(nanoseconds(ClockId::ThreadCPUTime), Ordering::Relaxed);
    }
}

/// A counter that sums the CPU time of all workers.
#[derive(Debug)]
pub struct CpuOfWorkers {
    name: &'static str,
    help: &'static str,
    workers: Mutex<Vec<Arc<AtomicU64>>>,
}

impl CpuOfWorkers {
    /// A counter without workers.
    #[must_use]
    pub const fn new(name: &'static str, help: &'static str) -> Self {
        Self {
            name,
            help,
            workers: Mutex::new(Vec::new()),
        }
    }

    /// The part of one more worker.
    pub fn for_worker(&self) -> CpuOfWorker {
        let noted = Arc::<AtomicU64>::default();
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        workers.push(Arc::clone(&noted));
        CpuOfWorker(noted)
    }

    /// In the text format of Prometheus.
    #[must_use]
    pub fn render(&self) -> String {
        let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = workers.iter().map(|worker| worker.load(Ordering::Relaxed));
        rendered(self.name, self.help, sum.sum())
    }
}

/// A counter of the CPU time of this process.
pub(super) struct CpuOfProcess {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
}

impl CpuOfProcess {
    pub(super) fn render(&self) -> String {
        rendered(self.name, self.help, nanoseconds(ClockId::ProcessCPUTime))
    }
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = Duration::try_from(clock_gettime(clock)).unwrap_or_default();
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn rendered(name: &str, help: &str, nanoseconds: u64) -> String {
    let seconds = Duration::from_nanos(nanoseconds).as_secs_f64();
    format!("# HELP {name} {help}\n# TYPE {name} counter\n{name} {seconds}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_time_of_a_thread_has_more_digits_than_a_redirect_takes() {
        let all = CpuOfWorkers::new("shunt_x_seconds_total", "Time.");
        let worker = all.for_worker();
        worker.note();
        let before = nanoseconds(ClockId::ThreadCPUTime);
        let mut work = 0_u64;
        while nanoseconds(ClockId::ThreadCPUTime) < before + 10_000 {
            work = std::hint::black_box(work + 1);
        }
        worker.note();
        let text = all.render();
        let seconds = text
            .lines()
            .nth(2)
            .unwrap()
            .strip_prefix("shunt_x_seconds_total ");
        let seconds: f64 = seconds.unwrap().parse().unwrap();
        assert!(seconds >= 0.000_01, "{text}");
        assert!(seconds.fract() > 0.0, "{text}");
    }
}
