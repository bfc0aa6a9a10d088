//! What a worker spends on headers that it never met, so that nobody can make redirects dear with headers that nobody sends.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use rustix::time::{ClockId, clock_gettime};

use super::AddressOf;

/// How long each period of a budget is.
const PERIOD: Duration = Duration::from_secs(1);

/// Processor time for new headers in each period. A browser's agent takes 4 us, so that is 4,000 of them in a second.
const IN_ALL: Duration = Duration::from_millis(16);

/// What one address may take of it.
const OF_ONE_ADDRESS: Duration = Duration::from_millis(4);

/// The processor time that is spent in the current period.
pub(super) struct Budget {
    ends: Instant,
    in_all: Duration,
    /// Each address has spent something, so `IN_ALL` bounds their number, too.
    by_address: HashMap<String, Duration, RandomState>,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self {
            ends: Instant::now(),
            in_all: Duration::ZERO,
            by_address: HashMap::default(),
        }
    }

    /// Does the work of an address; `None` if nothing is left for it in this period. Work that was begun is finished.
    pub(super) fn spend<T>(
        &mut self,
        address: AddressOf<'_>,
        work: impl FnOnce() -> T,
    ) -> Option<T> {
        self.spend_by(Instant::now(), processor_time, address, work)
    }

    fn spend_by<T>(
        &mut self,
        now: Instant,
        clock: impl Fn() -> Duration,
        address: AddressOf<'_>,
        work: impl FnOnce() -> T,
    ) -> Option<T> {
        if now >= self.ends {
            self.ends = now + PERIOD;
            self.in_all = Duration::ZERO;
            self.by_address.clear();
        }
        if self.in_all >= IN_ALL {
            return None;
        }
        let spent = self.by_address.entry(address()).or_default();
        if *spent >= OF_ONE_ADDRESS {
            return None;
        }
        let before = clock();
        let done = work();
        let took = clock().saturating_sub(before);
        *spent += took;
        self.in_all += took;
        Some(done)
    }
}

/// That of this thread: a machine that is busy with other programs takes nothing from anybody.
fn processor_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(now).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// How much work of a millisecond is done for an address.
    fn done(budget: &mut Budget, now: Instant, address: &str, asked: usize) -> usize {
        let spent = Cell::new(0);
        let clock = || Duration::from_millis(spent.get());
        let address = || address.to_owned();
        let mut work = || budget.spend_by(now, clock, &address, || spent.set(spent.get() + 1));
        (0..asked).filter(|_| work().is_some()).count()
    }

    #[test]
    fn one_address_takes_a_quarter_and_all_together_take_no_more_than_there_is() {
        let (mut budget, now) = (Budget::new(), Instant::now() + PERIOD);
        assert_eq!(done(&mut budget, now, "first", 100), 4);
        assert_eq!(done(&mut budget, now, "second", 3), 3);
        let others = (0..100).map(|other| done(&mut budget, now, &other.to_string(), 100));
        assert_eq!(others.sum::<usize>(), 9);
        assert_eq!(done(&mut budget, now, "second", 1), 0);
    }

    #[test]
    fn the_next_period_has_a_budget_of_its_own() {
        let (mut budget, now) = (Budget::new(), Instant::now() + PERIOD);
        assert_eq!(done(&mut budget, now, "address", 100), 4);
        assert_eq!(done(&mut budget, now + PERIOD / 2, "address", 100), 0);
        assert_eq!(done(&mut budget, now + PERIOD, "address", 100), 4);
    }

    #[test]
    fn of_addresses_for_which_nothing_is_left_nothing_is_kept() {
        let (mut budget, now) = (Budget::new(), Instant::now() + PERIOD);
        for other in 0..100_000 {
            done(&mut budget, now, &other.to_string(), 1);
        }
        assert!(budget.by_address.len() <= 16);
    }
}
