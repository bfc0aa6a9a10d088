//! Look-ups of codes that no link has, by address: a client that sweeps the space of codes causes little else.
//!
//! Only look-ups beyond the memory of the process are counted, and only they are refused: past the limit an address still
//! follows the links that the process has cached, and a dead link that many visit behind one address counts once.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use super::{Counters, CurrentLimits, MAX_CALLERS, MINUTE, TooMany};
use crate::domain::Clock;
use crate::telemetry::metrics::LIMIT_HITS;

/// Counts the misses of each address in this process; cheap to clone.
#[derive(Clone)]
pub struct MissLimiter {
    limits: CurrentLimits,
    clock: Arc<dyn Clock>,
    /// Keyed by the process, so that no stranger finds an address with the counter of another address.
    hasher: RandomState,
    /// By a hash of the address, and the minute.
    misses: Counters,
}

impl MissLimiter {
    /// Holds the limit that is in force at each moment.
    #[must_use]
    pub fn new(limits: CurrentLimits, clock: Arc<dyn Clock>) -> Self {
        Self {
            limits,
            clock,
            hasher: RandomState::new(),
            misses: Counters::new(MAX_CALLERS, 2 * MINUTE),
        }
    }

    /// Whether an address may have a code looked up.
    ///
    /// # Errors
    /// [`TooMany`] if its misses of this minute reached the limit.
    pub fn check(&self, address: &str) -> Result<(), TooMany> {
        let limit = self.limits.get().misses;
        if limit == 0 {
            return Ok(());
        }
        let (key, retry_after) = self.key(address);
        let misses = self.misses.find(key);
        if misses.is_none_or(|misses| misses.sums().shared < i64::from(limit)) {
            return Ok(());
        }
        metrics::counter!(LIMIT_HITS, "limit" => "misses").increment(1);
        Err(TooMany { retry_after })
    }

    /// Notes that no link had the code that was looked up for an address.
    pub fn count(&self, address: &str) {
        let (key, _) = self.key(address);
        self.misses.of(key).add(1);
    }

    /// The counter of an address, and how long it is in use.
    fn key(&self, address: &str) -> ((u64, u64), Duration) {
        let now = self.clock.now().unix_seconds();
        let minute = MINUTE.as_secs();
        // Only a hash of the address is kept.
        let key = (self.hasher.hash_one(address), now / minute);
        (key, Duration::from_secs(minute - now % minute))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Limits, ManualClock};

    #[test]
    fn an_address_is_stopped_past_its_misses_of_a_minute_and_no_other_is() {
        let clock = Arc::new(ManualClock::at("2027-01-31T18:00:20Z".parse().unwrap()));
        let limits = CurrentLimits::new(Limits {
            misses: 2,
            ..Limits::default()
        });
        let limiter = MissLimiter::new(limits.clone(), Arc::clone(&clock) as _);
        for _ in 0..2 {
            assert_eq!(limiter.check("198.51.100.1"), Ok(()));
            limiter.count("198.51.100.1");
        }
        let retry_after = Duration::from_secs(40);
        assert_eq!(limiter.check("198.51.100.1"), Err(TooMany { retry_after }));
        assert_eq!(limiter.check("198.51.100.2"), Ok(()));
        clock.advance(retry_after);
        assert_eq!(limiter.check("198.51.100.1"), Ok(()));
        limits.set(Limits::default());
        limiter.count("198.51.100.1");
        assert_eq!(limiter.check("198.51.100.1"), Ok(()), "0 is no limit");
    }
}
