//! What an address may add to the database in a day (UTC): accounts, and bytes of links. Many accounts of one address have no
//! more than one.
//!
//! Small amounts are gathered before they are added in Redis, so that most links are made without that round trip: each
//! instance may let a 64th more pass.

use std::time::Duration;

use super::{Counter, DAY, Limiter, TooMany};
use crate::shared_redis::{RedisFailure, scripts};
use crate::telemetry::metrics::LIMIT_HITS;

/// The part of a limit that an instance gathers.
const GATHERED_PART: i64 = 64;

/// What is limited by day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Daily {
    /// Accounts that are made, one each.
    Accounts,
    /// Bytes of links that are made or grow.
    LinkBytes,
}

/// What became of a share.
enum Shared {
    /// Redis has it; the sum of all instances.
    Sum(i64),
    /// Redis does not have it.
    No,
    /// Redis may have it.
    InDoubt,
}

impl Daily {
    fn name(self) -> &'static str {
        match self {
            Self::Accounts => "accounts_of_day",
            Self::LinkBytes => "bytes_of_day",
        }
    }
}

impl Limiter {
    /// Counts what an address adds today.
    ///
    /// # Errors
    /// [`TooMany`] if that is more than the address may add; nothing is counted then.
    pub async fn add_today(&self, what: Daily, address: &str, amount: u64) -> Result<(), TooMany> {
        let Some(limit) = self.daily_limit(what) else {
            return Ok(());
        };
        let amount = i64::try_from(amount).unwrap_or(i64::MAX);
        let (counter, added) = self.added_today(what, address);
        let to_share = {
            let mut sums = added.sums();
            if sums
                .shared
                .saturating_add(sums.gathered)
                .saturating_add(amount)
                > limit
            {
                drop(sums);
                return Err(self.too_many_today(what));
            }
            sums.gathered += amount;
            if sums.gathered >= limit / GATHERED_PART {
                let all = std::mem::take(&mut sums.gathered);
                sums.shared += all;
                all
            } else {
                0
            }
        };
        if to_share == 0 {
            return Ok(());
        }
        let sum = match self.share(what, counter, to_share).await {
            Shared::Sum(sum) => sum,
            // While Redis is away, each process counts on its own; it shares what it gathered as soon as Redis answers.
            Shared::No => {
                let mut sums = added.sums();
                sums.shared -= to_share;
                sums.gathered += to_share;
                return Ok(());
            }
            // Redis was late, and mostly has it: shared once more, it would be counted twice.
            Shared::InDoubt => return Ok(()),
        };
        let is_over = {
            let mut sums = added.sums();
            sums.shared = sums.shared.max(sum);
            sum > limit
        };
        if is_over {
            self.refund_today(what, address, amount.unsigned_abs());
            return Err(self.too_many_today(what));
        }
        Ok(())
    }

    /// What was counted was not added.
    pub fn refund_today(&self, what: Daily, address: &str, amount: u64) {
        if self.daily_limit(what).is_some() {
            let amount = i64::try_from(amount).unwrap_or(i64::MAX);
            // It is subtracted in Redis with what is gathered next.
            self.added_today(what, address).1.sums().gathered -= amount;
        }
    }

    fn daily_limit(&self, what: Daily) -> Option<i64> {
        let limits = self.limits.get();
        let (is_limited, limit) = match what {
            Daily::Accounts => (limits.register > 0, u64::from(limits.accounts_per_day)),
            Daily::LinkBytes => (limits.create > 0, limits.link_bytes_per_day),
        };
        (is_limited && limit > 0).then(|| i64::try_from(limit).unwrap_or(i64::MAX))
    }

    fn added_today(&self, what: Daily, address: &str) -> ((u64, u64), Counter) {
        let day = self.clock.now().unix_seconds() / DAY.as_secs();
        let counter = (self.hasher.hash(what.name(), &[address]), day);
        (counter, self.daily.of(counter))
    }

    async fn share(&self, what: Daily, (address, day): (u64, u64), more: i64) -> Shared {
        let redis = self.redis.as_ref().map(|redis| redis.of_number(address));
        let Some(redis) = redis.filter(|redis| redis.is_up()) else {
            return Shared::No;
        };
        let key = redis.keys().limit(what.name(), address, day);
        let mut call = scripts::COUNT_ATTEMPTS.call(&[&key]);
        call.arg(more).arg(2 * DAY.as_secs());
        match redis.query(&call, redis.deadline()).await {
            Ok(sum) => Shared::Sum(sum),
            Err(RedisFailure::NoAnswer(_)) => Shared::InDoubt,
            Err(_) => Shared::No,
        }
    }

    fn too_many_today(&self, what: Daily) -> TooMany {
        metrics::counter!(LIMIT_HITS, "limit" => what.name()).increment(1);
        let now = self.clock.now().unix_seconds();
        let retry_after = Duration::from_secs(DAY.as_secs() - now % DAY.as_secs());
        TooMany { retry_after }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::{Limits, ManualClock};
    use crate::limits::CurrentLimits;
    use crate::limits::tests::hasher;

    fn limiter(create: u32, bytes: u64) -> (Limiter, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::at("2027-01-31T18:00:00Z".parse().unwrap()));
        let limits = CurrentLimits::new(Limits {
            create,
            link_bytes_per_day: bytes,
            ..Limits::default()
        });
        let limiter = Limiter::new(limits, None, hasher(), Arc::clone(&clock) as _);
        (limiter, clock)
    }

    #[tokio::test]
    async fn an_address_adds_as_much_as_it_may_in_a_day_and_no_byte_more() {
        let (limiter, clock) = limiter(1, 1_000);
        let add =
            async |address: &str, bytes| limiter.add_today(Daily::LinkBytes, address, bytes).await;
        assert_eq!(add("a", 600).await, Ok(()));
        let over = TooMany {
            retry_after: Duration::from_hours(6),
        };
        assert_eq!(add("a", 401).await, Err(over));
        for _ in 0..400 {
            assert_eq!(add("a", 1).await, Ok(()));
        }
        assert_eq!(add("a", 1).await, Err(over));
        assert_eq!(add("b", 1_000).await, Ok(()));
        limiter.refund_today(Daily::LinkBytes, "a", 1);
        assert_eq!(add("a", 1).await, Ok(()));
        clock.advance(over.retry_after);
        assert_eq!(add("a", 1_000).await, Ok(()));
    }

    #[tokio::test]
    async fn zero_is_no_limit() {
        for (create, bytes) in [(0, 1), (1, 0)] {
            let (limiter, _) = limiter(create, bytes);
            for _ in 0..10 {
                assert_eq!(
                    limiter.add_today(Daily::LinkBytes, "a", u64::MAX / 2).await,
                    Ok(())
                );
            }
        }
    }
}
