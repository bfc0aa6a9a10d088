//! How many parts of classes are merged, or get into the feeds of events, in one transaction.

use std::sync::atomic::{AtomicI64, Ordering};

/// Parts at most: a transaction keeps a core, and the disk, from redirects.
const MOST: i64 = 128;

/// A step that fails, because it takes too long, is not tried again as it is.
pub(super) struct PartsPerStep(AtomicI64);

impl Default for PartsPerStep {
    fn default() -> Self {
        Self(AtomicI64::new(MOST))
    }
}

impl PartsPerStep {
    pub(super) fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Notes whether a step of so many succeeded.
    pub(super) fn note(&self, parts: i64, has_succeeded: bool) {
        let next = if has_succeeded { 2 * parts } else { parts / 2 };
        self.0.store(next.clamp(1, MOST), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_halved_down_to_one_part_after_failures_and_grows_again() {
        let size = PartsPerStep::default();
        let sizes = |has_succeeded| {
            size.note(size.get(), has_succeeded);
            size.get()
        };
        assert_eq!([false; 8].map(sizes), [64, 32, 16, 8, 4, 2, 1, 1]);
        assert_eq!([true; 8].map(sizes), [2, 4, 8, 16, 32, 64, 128, 128]);
    }
}
