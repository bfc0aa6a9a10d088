//! Counters of callers in this process. All limits have the same kind, so that the cache is compiled once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use moka::sync::Cache;

/// A bounded number of counters, by a hash of the caller and of what is counted, and by the window; cheap to clone.
#[derive(Clone)]
pub(super) struct Counters(Cache<(u64, u64), Counter>);

/// Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Counter(Arc<Mutex<Sums>>);

#[derive(Default)]
pub(super) struct Sums {
    /// Added in Redis, by all instances as far as this one knows; or counted only here.
    pub(super) shared: i64,
    /// To be added in Redis.
    pub(super) gathered: i64,
}

impl Counters {
    /// Counters that are kept until there are too many.
    pub(super) fn new(capacity: u64) -> Self {
        Self(Cache::new(capacity))
    }

    /// Counters that are also forgotten after a time.
    pub(super) fn lasting(capacity: u64, time: Duration) -> Self {
        let cache = Cache::builder().max_capacity(capacity).time_to_live(time);
        Self(cache.build())
    }

    /// The counter of a caller in a window.
    pub(super) fn of(&self, key: (u64, u64)) -> Counter {
        self.0.get_with(key, Counter::default)
    }

    /// The same if it has counted something.
    pub(super) fn find(&self, key: (u64, u64)) -> Option<Counter> {
        self.0.get(&key)
    }
}

impl Counter {
    pub(super) fn sums(&self) -> MutexGuard<'_, Sums> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds to what is shared; returns the new sum.
    pub(super) fn add(&self, more: i64) -> i64 {
        let mut sums = self.sums();
        sums.shared = sums.shared.saturating_add(more);
        sums.shared
    }
}
