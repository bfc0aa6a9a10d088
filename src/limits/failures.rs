//! Failed log-ins, by (account, address) and far more generously by account. Wrong passwords of links in the same way.
//!
//! An attempt counts as a failure until it has succeeded, so that simultaneous attempts pass no limit. The account's limit
//! holds for strangers: an address that logged in to the account before is stopped only by its own failures, so that no
//! stranger can lock an owner out.

use std::sync::Arc;
use std::time::Duration;

use super::{CallerHasher, Counter, Counters, CurrentLimits, TooMany};
use crate::domain::Clock;
use crate::shared_redis::{RedisShards, scripts};
use crate::telemetry::metrics::LIMIT_HITS;

/// Counters that one process keeps at once.
const MAX_COUNTERS: usize = 200_000;

/// What failures are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Scope {
    /// An account and an address together.
    Address,
    /// One account.
    Account,
    /// A link and an address together.
    LinkAddress,
    /// One link.
    Link,
}

impl Scope {
    /// The limit's name in Redis and in metrics.
    fn name(self) -> &'static str {
        match self {
            Self::Address => "login_failures",
            Self::Account => "account_failures",
            Self::LinkAddress => "link_password_failures",
            Self::Link => "link_failures",
        }
    }

    fn window(self) -> Duration {
        match self {
            Self::Address | Self::LinkAddress => Duration::from_mins(15),
            Self::Account | Self::Link => Duration::from_hours(1),
        }
    }
}

/// Counts failures; cheap to clone.
#[derive(Clone)]
pub struct FailureLimiter {
    limits: CurrentLimits,
    redis: Option<RedisShards>,
    hasher: CallerHasher,
    clock: Arc<dyn Clock>,
    local: Counters,
    /// By which attempts are counted: with the address, and without it.
    scopes: [Scope; 2],
}

/// One attempt to log in, which counts as a failure unless [`FailureGuard::forgive`] takes it back.
#[must_use]
pub struct FailureGuard {
    limiter: FailureLimiter,
    counted: Vec<CountedFailure>,
}

struct CountedFailure {
    scope: Scope,
    /// Whose failures, and in which window.
    key: (u64, u64),
    local: Counter,
    in_redis: bool,
}

impl FailureLimiter {
    /// Counts in `redis`, if there is a Redis.
    #[must_use]
    pub fn new(
        limits: CurrentLimits,
        redis: Option<RedisShards>,
        hasher: CallerHasher,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let local = Counters::new(MAX_COUNTERS, 2 * Scope::Account.window());
        Self {
            limits,
            redis,
            hasher,
            clock,
            local,
            scopes: [Scope::Address, Scope::Account],
        }
    }

    /// The same limits for passwords of links.
    #[must_use]
    pub fn of_links(&self) -> Self {
        Self {
            scopes: [Scope::LinkAddress, Scope::Link],
            ..self.clone()
        }
    }

    /// Begins an attempt on `account` from `address`. Only if the account has reached its limit, `is_known` finds
    /// out whether that address logged in to it before.
    ///
    /// # Errors
    /// [`TooMany`]: the attempt may not be made.
    pub async fn begin(
        &self,
        account: &str,
        address: &str,
        is_known: impl Future<Output = bool>,
    ) -> Result<FailureGuard, TooMany> {
        let limits = self.limits.get();
        let mut guard = FailureGuard {
            limiter: self.clone(),
            counted: Vec::new(),
        };
        let hash = |scope: Scope, caller: &[&str]| self.hasher.hash(scope.name(), caller);
        let [with_address, of_all] = self.scopes;
        let here = hash(with_address, &[account, address]);
        let outcome = guard
            .count(with_address, here, limits.failures_from_address)
            .await;
        if let Err(too_many) = outcome {
            guard.undo().await;
            return Err(too_many);
        }
        let account = hash(of_all, &[account]);
        let outcome = guard
            .count(of_all, account, limits.failures_of_account)
            .await;
        match outcome {
            Err(too_many) if !is_known.await => {
                guard.undo().await;
                metrics::counter!(LIMIT_HITS, "limit" => of_all.name()).increment(1);
                Err(too_many)
            }
            _ => Ok(guard),
        }
    }

    async fn add(&self, scope: Scope, key: (u64, u64), more: i64) -> Option<i64> {
        let (caller, window) = key;
        let redis = self.redis.as_ref()?.of_number(caller);
        if !redis.is_up() {
            return None;
        }
        let key = redis.keys().limit(scope.name(), caller, window);
        let mut call = scripts::COUNT_ATTEMPTS.call(&[&key]);
        call.arg(more).arg(2 * scope.window().as_secs());
        redis.query(&call, redis.deadline()).await.ok()
    }
}

impl FailureGuard {
    /// The attempt was no failure: it succeeded, or was not made.
    pub async fn forgive(mut self) {
        self.undo().await;
    }

    /// Counts one more, unless the limit is reached.
    async fn count(&mut self, scope: Scope, caller: u64, limit: u32) -> Result<(), TooMany> {
        if limit == 0 {
            return Ok(());
        }
        let limit = i64::from(limit);
        let (now, seconds) = (
            self.limiter.clock.now().unix_seconds(),
            scope.window().as_secs(),
        );
        let key = (caller, now / seconds);
        let local = self.limiter.local.of(key);
        let here = local.add(1);
        // A flood at this instance causes no more calls.
        let of_all = if here <= limit {
            self.limiter.add(scope, key, 1).await
        } else {
            None
        };
        self.counted.push(CountedFailure {
            scope,
            key,
            local,
            in_redis: of_all.is_some(),
        });
        if of_all.unwrap_or_default().max(here) <= limit {
            return Ok(());
        }
        if scope == self.limiter.scopes[0] {
            metrics::counter!(LIMIT_HITS, "limit" => scope.name()).increment(1);
        }
        Err(TooMany {
            retry_after: Duration::from_secs(seconds - now % seconds),
        })
    }

    async fn undo(&mut self) {
        for counted in self.counted.drain(..) {
            counted.local.add(-1);
            if counted.in_redis {
                // If Redis went away in between, it counts one attempt too many until the window ends.
                let CountedFailure { scope, key, .. } = counted;
                let _ = self.limiter.add(scope, key, -1).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Limits, ManualClock};

    fn limiter() -> (FailureLimiter, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::at("2027-01-31T18:00:00Z".parse().unwrap()));
        let limits = CurrentLimits::new(Limits {
            failures_from_address: 2,
            failures_of_account: 5,
            ..Limits::default()
        });
        (
            FailureLimiter::new(
                limits,
                None,
                crate::limits::tests::hasher(),
                Arc::clone(&clock) as _,
            ),
            clock,
        )
    }

    async fn fails(limiter: &FailureLimiter, address: &str, is_known: bool) -> bool {
        let begun = limiter.begin("ada", address, async { is_known }).await;
        begun.is_ok()
    }

    #[tokio::test]
    async fn strangers_lock_out_strangers_and_never_an_address_that_is_known() {
        let (limiter, clock) = limiter();
        for (address, allowed) in [
            ("a", true),
            ("a", true),
            ("a", false),
            ("b", true),
            ("b", true),
            ("c", true),
            ("c", false),
            ("d", false),
        ] {
            assert_eq!(fails(&limiter, address, false).await, allowed, "{address}");
        }
        assert!(fails(&limiter, "home", true).await);
        assert!(fails(&limiter, "home", true).await);
        assert!(
            !fails(&limiter, "home", true).await,
            "its own failures count"
        );
        clock.advance(Scope::Address.window());
        assert!(fails(&limiter, "home", true).await);
        assert!(
            !fails(&limiter, "d", false).await,
            "the account has had its failures"
        );
        clock.advance(Scope::Account.window());
        assert!(fails(&limiter, "d", false).await, "no lock is for ever");
    }

    #[tokio::test]
    async fn an_attempt_that_succeeds_is_no_failure() {
        let (limiter, _) = limiter();
        for _ in 0..20 {
            let begun = limiter.begin("ada", "a", async { false }).await;
            begun.unwrap_or_else(|_| panic!("refused")).forgive().await;
        }
        assert!(fails(&limiter, "a", false).await);
    }
}
