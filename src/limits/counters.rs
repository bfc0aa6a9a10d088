//! Counters of callers in this process, in a bounded number.

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What is counted for whom, as a hash; and the window.
type Key = (u64, u64);

/// Counters by caller and window; cheap to clone. Those that were not used for long make room for new ones.
#[derive(Clone)]
pub(super) struct Counters(Arc<Mutex<Generations>>);

/// The counters of two spans of time. One that is used moves to the newer span; the older span is dropped as a whole.
struct Generations {
    newer: HashMap<Key, Counter>,
    older: HashMap<Key, Counter>,
    /// Counters of one span at most.
    capacity: usize,
    /// How long a span lasts at most.
    lasts: Duration,
    since: Instant,
}

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
    /// Counters that are kept for `lasts` after their last use, if there is room.
    pub(super) fn new(capacity: usize, lasts: Duration) -> Self {
        Self(Arc::new(Mutex::new(Generations {
            newer: HashMap::new(),
            older: HashMap::new(),
            capacity: capacity / 2,
            lasts,
            since: Instant::now(),
        })))
    }

    /// The counter of a caller in a window.
    pub(super) fn of(&self, key: Key) -> Counter {
        let mut generations = self.generations();
        let found = generations.find(key);
        found.unwrap_or_else(|| generations.insert(key, Counter::default()))
    }

    /// The same if it has counted something.
    pub(super) fn find(&self, key: Key) -> Option<Counter> {
        self.generations().find(key)
    }

    fn generations(&self) -> MutexGuard<'_, Generations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Generations {
    fn find(&mut self, key: Key) -> Option<Counter> {
        if self.since.elapsed() >= self.lasts {
            self.begin_anew();
        }
        if let Some(counter) = self.newer.get(&key) {
            return Some(counter.clone());
        }
        let counter = self.older.remove(&key)?;
        Some(self.insert(key, counter))
    }

    fn insert(&mut self, key: Key, counter: Counter) -> Counter {
        if self.newer.len() >= self.capacity {
            self.begin_anew();
        }
        self.newer.insert(key, counter.clone());
        counter
    }

    fn begin_anew(&mut self) {
        self.older = mem::take(&mut self.newer);
        self.since = Instant::now();
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

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_hours(1);

    #[test]
    fn a_counter_that_is_used_stays_however_many_others_come() {
        let counters = Counters::new(100, LONG);
        counters.of((0, 0)).add(1);
        for caller in 1..10_000 {
            counters.of((caller, 0)).add(1);
            if caller % 40 == 0 {
                counters.of((0, 0)).add(1);
            }
        }
        assert_eq!(counters.of((0, 0)).add(0), 250);
    }

    #[test]
    fn no_more_counters_are_kept_than_there_is_room_for() {
        let counters = Counters::new(100, LONG);
        for caller in 0..10_000 {
            counters.of((caller, 0)).add(1);
        }
        let kept = (0..10_000).filter(|caller| counters.find((*caller, 0)).is_some());
        assert!((50..=100).contains(&kept.count()));
    }

    #[test]
    fn windows_and_callers_are_counted_apart() {
        let counters = Counters::new(100, LONG);
        assert!(counters.find((1, 1)).is_none());
        assert_eq!(counters.of((1, 1)).add(2), 2);
        assert_eq!(counters.of((1, 2)).add(1), 1);
        assert_eq!(counters.of((2, 1)).add(1), 1);
        assert_eq!(counters.of((1, 1)).add(1), 3);
    }

    #[test]
    fn a_counter_is_dropped_when_it_was_not_used_for_long() {
        let counters = Counters::new(100, Duration::ZERO);
        counters.of((1, 1)).add(1);
        // With spans of no length, each look is a new one: the second finds it no longer.
        assert!(counters.find((2, 2)).is_none());
        assert!(counters.find((2, 2)).is_none());
        assert!(counters.find((1, 1)).is_none());
    }
}
