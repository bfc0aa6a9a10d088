//! How long a Redis takes to acknowledge what redirects wait for.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Times of acknowledgements that were not read yet.
#[derive(Default)]
pub(super) struct Acknowledgements {
    count: AtomicU64,
    /// Their sum, in microseconds.
    time: AtomicU64,
}

impl Acknowledgements {
    pub(super) fn note(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.time.fetch_add(micros, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// The mean of those since the last call; `None` where there was none. One that is noted at the same moment may count for
    /// half: it is a measure of load, and no account.
    pub(super) fn take_mean(&self) -> Option<Duration> {
        let count = self.count.swap(0, Ordering::Relaxed);
        let time = self.time.swap(0, Ordering::Relaxed);
        Some(Duration::from_micros(time.checked_div(count)?))
    }
}
