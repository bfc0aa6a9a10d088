//! How long a cached link may be served.
//!
//! Every acknowledgement of Redis says where link changes stand. So while Redis answers, every link in memory is as good
//! as looked up just now. Without an answer for a while, a link is looked up again once its time has passed.

use std::hash::{BuildHasher, Hash};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;

use crate::domain::ShortCode;

/// The lifetime of each link, between half of the longest and the longest: links that were inserted together, after a
/// start, must not all be looked up again together.
pub(super) struct Lifetimes {
    longest: Duration,
    hasher: RandomState,
}

impl Lifetimes {
    pub(super) fn up_to(longest: Duration) -> Self {
        Self {
            longest,
            hasher: RandomState::default(),
        }
    }

    pub(super) fn of(&self, code: impl Hash) -> Duration {
        let thousandths = u32::try_from(self.hasher.hash_one(code) % 1_000)
            .expect("a number below a thousand is one");
        self.longest / 2 + self.longest / 2 * thousandths / 1_000
    }
}

/// Up to when all links of a data set are known to be current.
pub(super) struct Freshness {
    unconfirmed: Lifetimes,
    created: Instant,
    /// The moment up to which every change is applied; milliseconds since `created`.
    confirmed: AtomicU64,
}

impl Freshness {
    /// A link is served for `unconfirmed` at most without a confirmation.
    pub(super) fn new(unconfirmed: Duration) -> Self {
        Self {
            unconfirmed: Lifetimes::up_to(unconfirmed),
            created: Instant::now(),
            confirmed: AtomicU64::new(0),
        }
    }

    /// Notes that all changes up to this moment are applied.
    pub(super) fn confirm(&self, moment: Instant) {
        let millis = moment.saturating_duration_since(self.created).as_millis();
        let millis = u64::try_from(millis).unwrap_or(u64::MAX);
        self.confirmed.fetch_max(millis, Ordering::Release);
    }

    /// Whether a link that was looked up at `since` may be served.
    pub(super) fn holds(&self, code: &ShortCode, since: Instant, now: Instant) -> bool {
        let confirmed = Duration::from_millis(self.confirmed.load(Ordering::Acquire));
        let newest = since.max(self.created + confirmed);
        now.saturating_duration_since(newest) < self.unconfirmed.of(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_inserted_together_expire_one_after_the_other_and_in_time() {
        let lifetimes = Lifetimes::up_to(Duration::from_mins(1));
        let mut expiring = [0; 60];
        for number in 0..30_000 {
            let lifetime = lifetimes.of(number);
            assert!(lifetime <= Duration::from_mins(1));
            expiring[usize::try_from(lifetime.as_secs()).unwrap().min(59)] += 1;
        }
        assert!(expiring[..30].iter().all(|count| *count == 0));
        assert!(
            expiring[30..]
                .iter()
                .all(|count| (800..1_200).contains(count))
        );
    }

    #[test]
    fn a_link_is_served_for_its_time_after_it_was_looked_up_or_confirmed() {
        let second = Duration::from_secs(1);
        let freshness = Freshness::new(10 * second);
        let (start, code) = (Instant::now(), ShortCode::parse("abc123").unwrap());
        assert!(freshness.holds(&code, start, start + 4 * second));
        assert!(!freshness.holds(&code, start, start + 10 * second));
        freshness.confirm(start + 60 * second);
        // A late confirmation of an earlier moment changes nothing.
        freshness.confirm(start + 30 * second);
        assert!(freshness.holds(&code, start, start + 64 * second));
        assert!(!freshness.holds(&code, start, start + 70 * second));
        assert!(freshness.holds(&code, start + 68 * second, start + 70 * second));
    }
}
