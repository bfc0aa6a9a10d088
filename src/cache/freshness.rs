//! Until when a link is believed that was looked up a while ago.
//!
//! Whatever Redis answers to a batch says where link changes stand. So while it answers, all that is held
//! is as good as looked up just now, however long ago it was; only without word from it a link is looked up
//! again after its time.

use std::hash::{BuildHasher, Hash};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;

use crate::domain::ShortCode;

/// How long each link is held or believed: between half of the time and all of it. Links that came together,
/// after a start, must not all be looked up again together.
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

/// What is known of all links of a data set together.
pub(super) struct Freshness {
    unconfirmed: Lifetimes,
    begun: Instant,
    /// The moment up to which every change is known to be taken in; milliseconds since `begun`.
    confirmed: AtomicU64,
}

impl Freshness {
    /// A link that nothing confirms is believed for `unconfirmed` at most.
    pub(super) fn new(unconfirmed: Duration) -> Self {
        Self {
            unconfirmed: Lifetimes::up_to(unconfirmed),
            begun: Instant::now(),
            confirmed: AtomicU64::new(0),
        }
    }

    /// Notes that all changes up to this moment are taken in.
    pub(super) fn confirm(&self, moment: Instant) {
        let millis = moment.saturating_duration_since(self.begun).as_millis();
        let millis = u64::try_from(millis).unwrap_or(u64::MAX);
        self.confirmed.fetch_max(millis, Ordering::Release);
    }

    /// Whether a link may be served that was looked up at `since`.
    pub(super) fn holds(&self, code: &ShortCode, since: Instant, now: Instant) -> bool {
        let confirmed = Duration::from_millis(self.confirmed.load(Ordering::Acquire));
        let newest = since.max(self.begun + confirmed);
        now.saturating_duration_since(newest) < self.unconfirmed.of(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_came_together_leave_one_after_the_other_and_in_time() {
        let lifetimes = Lifetimes::up_to(Duration::from_mins(1));
        let mut leaving = [0; 60];
        for number in 0..30_000 {
            let lifetime = lifetimes.of(number);
            assert!(lifetime <= Duration::from_mins(1));
            leaving[usize::try_from(lifetime.as_secs()).unwrap().min(59)] += 1;
        }
        assert!(leaving[..30].iter().all(|leaving| *leaving == 0));
        assert!(
            leaving[30..]
                .iter()
                .all(|leaving| (800..1_200).contains(leaving))
        );
    }

    #[test]
    fn a_link_is_believed_for_its_time_after_it_was_looked_up_or_confirmed() {
        let second = Duration::from_secs(1);
        let freshness = Freshness::new(10 * second);
        let (begun, code) = (Instant::now(), ShortCode::parse("abc123").unwrap());
        assert!(freshness.holds(&code, begun, begun + 4 * second));
        assert!(!freshness.holds(&code, begun, begun + 10 * second));
        freshness.confirm(begun + 60 * second);
        // What is told late of an earlier moment takes nothing back.
        freshness.confirm(begun + 30 * second);
        assert!(freshness.holds(&code, begun, begun + 64 * second));
        assert!(!freshness.holds(&code, begun, begun + 70 * second));
        assert!(freshness.holds(&code, begun + 68 * second, begun + 70 * second));
    }
}
