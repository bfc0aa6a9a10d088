//! Rate limits. Attempts are counted in Redis for all instances, or in the process if there is no Redis or it is away.
//!
//! Windows are fixed: simple, one script call, and exact enough for limits that no person reaches. At worst twice the
//! limit passes around the turn of a window.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use crate::domain::{Clock, Limits};
use crate::shared_redis::{RedisShards, scripts};
use crate::telemetry::metrics::LIMIT_HITS;

mod at_once;
mod bulk;
mod caller_hash;
mod counters;
mod daily;
mod failures;
mod misses;
mod searches;
mod waiting_room;

pub use at_once::{AtOnce, ClientShare, Full};
pub use bulk::MAX_BULK;
pub use caller_hash::CallerHasher;
use counters::{Counter, Counters};
pub use daily::Daily;
pub use failures::{FailureGuard, FailureLimiter};
pub use misses::MissLimiter;
pub use searches::{Searches, Turn};
pub use waiting_room::{Permit, RoomIsFull, WaitingRoom};

/// The window of all limits except the limits of failures.
const MINUTE: Duration = Duration::from_mins(1);

/// From here on a limit of links is counted in Redis only past its first eighth: most links are made without that round
/// trip, and each further instance may let an eighth more pass. Smaller limits are exact over all instances. So are those
/// of log-ins and registrations, whose password hash takes far longer than a round trip.
const LARGE: u32 = 1_000;

/// The part of a large limit that an instance counts by itself: one eighth.
const LOCAL_PART: u32 = 8;

/// The window of what an address adds to the database.
const DAY: Duration = Duration::from_hours(24);

/// Longer than any window of links that are made many at once: of one link per minute there are ten thousand minutes.
const LONGEST: Duration = Duration::from_hours(7 * 24);

/// Callers that one process keeps count of at once.
const MAX_CALLERS: usize = 100_000;

/// Reports of links per minute and address: more than a person writes.
const REPORTS: u32 = 20;

/// Mailed links per minute and address: more than a person asks for.
const MAILED_LINKS: u32 = 5;

/// What is limited per minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Log-in attempts, per address.
    Login,
    /// Registrations, per address.
    Register,
    /// Links made, per user.
    Create,
    /// Reports of links, per address.
    Report,
    /// Mailed links: for forgotten passwords per address of the client, to confirm an e-mail address per e-mail address.
    MailedLink,
}

impl Action {
    fn name(self) -> &'static str {
        match self {
            Self::Login => "login",
            Self::Register => "register",
            Self::Create => "create",
            Self::Report => "report",
            Self::MailedLink => "mailed_link",
        }
    }
}

/// Too many requests in this minute, or at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Too many requests")]
pub struct TooMany {
    /// After this time another attempt may succeed; at least a second.
    pub retry_after: Duration,
}

/// The limits in force, which a running service may be given anew; cheap to clone.
#[derive(Clone)]
pub struct CurrentLimits(Arc<RwLock<Limits>>);

impl CurrentLimits {
    /// Starts with these limits.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self(Arc::new(RwLock::new(limits)))
    }

    /// The limits in force.
    #[must_use]
    pub fn get(&self) -> Limits {
        *self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts other limits in force, for the windows under way, too.
    pub fn set(&self, limits: Limits) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = limits;
    }
}

/// Counts attempts; cheap to clone.
#[derive(Clone)]
pub struct Limiter {
    limits: CurrentLimits,
    redis: Option<RedisShards>,
    hasher: CallerHasher,
    clock: Arc<dyn Clock>,
    local: Counters,
    bulk: Counters,
    daily: Counters,
}

impl Limiter {
    /// Counts in `redis`, if there is a Redis.
    #[must_use]
    pub fn new(
        limits: CurrentLimits,
        redis: Option<RedisShards>,
        hasher: CallerHasher,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            limits,
            redis,
            hasher,
            clock,
            local: Counters::new(MAX_CALLERS, 2 * MINUTE),
            bulk: Counters::new(MAX_CALLERS, LONGEST),
            daily: Counters::new(MAX_CALLERS, DAY),
        }
    }

    /// Hashes callers, here and in what is kept of them elsewhere.
    #[must_use]
    pub fn hasher(&self) -> &CallerHasher {
        &self.hasher
    }

    /// Counts one more `action` of `caller`.
    ///
    /// # Errors
    /// [`TooMany`] when it is over the limit of this minute.
    pub async fn count(&self, action: Action, caller: &str) -> Result<(), TooMany> {
        let limits = self.limits.get();
        let limit = match action {
            Action::Login => limits.login,
            Action::Register => limits.register,
            Action::Create => limits.create,
            Action::Report => REPORTS,
            Action::MailedLink => MAILED_LINKS,
        };
        if limit == 0 {
            return Ok(());
        }
        let now = self.clock.now().unix_seconds();
        let window = now / MINUTE.as_secs();
        // Callers are addresses and e-mails: only a hash of them is kept, the same on all instances.
        let caller = self.hasher.hash(action.name(), &[caller]);
        let here = self.local.of((caller, window));
        let count = match here.count(action, limit) {
            AttemptCount::Here(count) => count,
            AttemptCount::ForRedis { count, backlog } => {
                let counted = self.count_in_redis(action, caller, window, backlog).await;
                if counted.is_none() {
                    here.is_not_shared(backlog);
                }
                // The count in Redis is lower if Redis lost data meanwhile.
                counted.unwrap_or_default().max(count)
            }
        };
        if count <= i64::from(limit) {
            return Ok(());
        }
        metrics::counter!(LIMIT_HITS, "limit" => action.name()).increment(1);
        let retry_after = Duration::from_secs(MINUTE.as_secs() - now % MINUTE.as_secs());
        Err(TooMany { retry_after })
    }

    async fn count_in_redis(
        &self,
        action: Action,
        caller: u64,
        window: u64,
        more: i64,
    ) -> Option<i64> {
        let redis = self.redis.as_ref()?.of_number(caller);
        if !redis.is_up() {
            return None;
        }
        let key = redis.keys().limit(action.name(), caller, window);
        let mut call = scripts::COUNT_ATTEMPTS.call(&[&key]);
        call.arg(more).arg(2 * MINUTE.as_secs());
        redis.query(&call, redis.deadline()).await.ok()
    }
}

/// Where the exact count is.
enum AttemptCount {
    /// In this process, as far as the limit goes.
    Here(i64),
    /// In Redis, once `backlog` is added there, which includes this attempt.
    ForRedis { count: i64, backlog: i64 },
}

impl Counter {
    /// Counts one more attempt.
    fn count(&self, action: Action, limit: u32) -> AttemptCount {
        let mut sums = self.sums();
        let count = sums.shared.saturating_add(sums.gathered).saturating_add(1);
        if count <= i64::from(local_part(action, limit)) {
            sums.gathered += 1;
            return AttemptCount::Here(count);
        }
        if count > i64::from(limit) && sums.gathered == 0 {
            // Redis has counted every attempt that could pass: a flood causes no further calls.
            sums.shared = count;
            return AttemptCount::Here(count);
        }
        let backlog = std::mem::take(&mut sums.gathered) + 1;
        sums.shared += backlog;
        AttemptCount::ForRedis { count, backlog }
    }

    /// Redis could not be told of a backlog.
    fn is_not_shared(&self, backlog: i64) {
        let mut sums = self.sums();
        sums.shared -= backlog;
        sums.gathered += backlog;
    }
}

/// How many attempts an instance counts without Redis.
fn local_part(action: Action, limit: u32) -> u32 {
    match action {
        Action::Create if limit >= LARGE => limit / LOCAL_PART,
        Action::Create | Action::Login | Action::Register | Action::Report | Action::MailedLink => {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ManualClock;

    /// Of every test of limits.
    pub(super) fn hasher() -> CallerHasher {
        let secret = b"0123456789abcdef0123456789abcdef".to_vec();
        CallerHasher::new(&crate::domain::TokenSecret::from_bytes(secret).unwrap())
    }

    fn limiter(login: u32) -> (Limiter, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::at("2027-01-31T18:00:00Z".parse().unwrap()));
        let limits = CurrentLimits::new(Limits {
            login,
            ..Limits::default()
        });
        let limiter = Limiter::new(limits, None, hasher(), Arc::clone(&clock) as _);
        (limiter, clock)
    }

    #[tokio::test]
    async fn callers_are_counted_apart_and_stopped_past_their_limit() {
        let (limiter, clock) = limiter(2);
        for _ in 0..2 {
            assert_eq!(limiter.count(Action::Login, "198.51.100.1").await, Ok(()));
        }
        clock.advance(Duration::from_secs(20));
        let over = TooMany {
            retry_after: Duration::from_secs(40),
        };
        assert_eq!(
            limiter.count(Action::Login, "198.51.100.1").await,
            Err(over)
        );
        assert_eq!(limiter.count(Action::Login, "198.51.100.2").await, Ok(()));
        clock.advance(over.retry_after);
        assert_eq!(limiter.count(Action::Login, "198.51.100.1").await, Ok(()));
    }

    #[tokio::test]
    async fn zero_is_no_limit() {
        let (limiter, _) = limiter(0);
        for _ in 0..1_000 {
            assert_eq!(limiter.count(Action::Login, "198.51.100.1").await, Ok(()));
        }
    }
}
