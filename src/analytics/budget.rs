//! Bounds the time that a worker spends on headers that it has not seen before, so that a stranger cannot slow redirects
//! down with invented headers.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;

/// The address of a client, which is found out only when it is needed.
pub type AddressOf<'a> = &'a (dyn Fn() -> String + Sync);

/// How long each period of a budget is.
const PERIOD: Duration = Duration::from_secs(1);

/// Time for new headers in each period. A browser's agent takes 4 us, so that is 4,000 of them in a second.
const IN_ALL: Duration = Duration::from_millis(16);

/// What one address may take of it.
const OF_ONE_ADDRESS: Duration = Duration::from_millis(4);

/// What one header is charged at most: its thread may have been interrupted meanwhile.
const OF_ONE_HEADER: Duration = Duration::from_millis(1);

/// The time that is spent in the current period.
pub(super) struct Budget {
    ends: Instant,
    in_all: Duration,
    /// By hashes of addresses, with a key of this process. Each has spent something, so `IN_ALL` bounds their number, too.
    by_address: HashMap<u64, Duration, RandomState>,
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
        self.spend_by(Instant::now, address, work)
    }

    fn spend_by<T>(
        &mut self,
        clock: impl Fn() -> Instant,
        address: AddressOf<'_>,
        work: impl FnOnce() -> T,
    ) -> Option<T> {
        let begin = clock();
        if begin >= self.ends {
            self.ends = begin + PERIOD;
            self.in_all = Duration::ZERO;
            self.by_address.clear();
        }
        if self.in_all >= IN_ALL {
            return None;
        }
        let address = self.by_address.hasher().hash_one(address());
        let spent = self.by_address.entry(address).or_default();
        if *spent >= OF_ONE_ADDRESS {
            return None;
        }
        let done = work();
        let took = clock().duration_since(begin).min(OF_ONE_HEADER);
        *spent += took;
        self.in_all += took;
        Some(done)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// How much work of a millisecond is done for an address.
    fn done(budget: &mut Budget, now: Instant, address: &str, asked: usize) -> usize {
        let spent = Cell::new(Duration::ZERO);
        let address = || address.to_owned();
        let mut work = || {
            let millisecond = || spent.set(spent.get() + Duration::from_millis(1));
            budget.spend_by(|| now + spent.get(), &address, millisecond)
        };
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
    fn a_header_whose_thread_is_interrupted_takes_a_quarter_of_its_addresss_time_at_most() {
        let (mut budget, now) = (Budget::new(), Instant::now() + PERIOD);
        let interrupted = Cell::new(now);
        let address = || "address".to_owned();
        let pause = || interrupted.set(now + PERIOD / 2);
        budget.spend_by(|| interrupted.get(), &address, pause);
        assert_eq!(done(&mut budget, now, "address", 100), 3);
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
