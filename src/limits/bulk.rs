//! The limit of links that are created in bulk: the same rate as for single links, over a window that is long enough for a
//! whole call. So one call is possible, and consecutive calls are no faster than single links.

use std::time::Duration;

use super::{Limiter, MINUTE, TooMany};
use crate::shared_redis::scripts;
use crate::telemetry::metrics::LIMIT_HITS;

/// The most links of one call.
pub const MAX_BULK: u32 = 10_000;

/// The limit's name in Redis and in metrics.
const NAME: &str = "bulk";

impl Limiter {
    /// Counts `links` that an account makes in one call.
    ///
    /// # Errors
    /// [`TooMany`] if they are more than the account may still create in this window; then no link is counted.
    pub async fn count_bulk(&self, account: &str, links: u32) -> Result<(), TooMany> {
        let per_minute = self.limits.get().create;
        if per_minute == 0 || links == 0 {
            return Ok(());
        }
        let minutes = MAX_BULK.div_ceil(per_minute);
        let limit = i64::from(per_minute) * i64::from(minutes);
        let seconds = u64::from(minutes) * MINUTE.as_secs();
        let now = self.clock.now().unix_seconds();
        let window = now / seconds;
        let account = self.hasher.hash(NAME, &[account]);
        let count = self
            .add_bulk((account, window), i64::from(links), seconds)
            .await;
        if count <= limit {
            return Ok(());
        }
        self.add_bulk((account, window), -i64::from(links), seconds)
            .await;
        metrics::counter!(LIMIT_HITS, "limit" => NAME).increment(1);
        let retry_after = Duration::from_secs(seconds - now % seconds);
        Err(TooMany { retry_after })
    }

    /// Adds in Redis, or here if there is no Redis or it is away; returns the sum.
    async fn add_bulk(&self, counter: (u64, u64), more: i64, seconds: u64) -> i64 {
        let here = self.bulk.of(counter).add(more);
        let (account, window) = counter;
        let Some(redis) = self.redis.as_ref().map(|shards| shards.of_number(account)) else {
            return here;
        };
        if !redis.is_up() {
            return here;
        }
        let key = redis.keys().limit(NAME, account, window);
        let mut call = scripts::COUNT_ATTEMPTS.call(&[&key]);
        call.arg(more).arg(2 * seconds);
        let sum: Result<i64, _> = redis.query(&call, redis.deadline()).await;
        // The count in Redis is lower if Redis lost data meanwhile.
        sum.map_or(here, |sum| sum.max(here))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::{Limits, ManualClock};
    use crate::limits::CurrentLimits;

    fn limiter(create: u32) -> (Limiter, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::at("2027-01-31T00:00:00Z".parse().unwrap()));
        let limits = CurrentLimits::new(Limits {
            create,
            ..Limits::default()
        });
        let limiter = Limiter::new(
            limits,
            None,
            crate::limits::tests::hasher(),
            Arc::clone(&clock) as _,
        );
        (limiter, clock)
    }

    #[tokio::test]
    async fn a_whole_call_fits_and_calls_in_a_row_are_no_faster_than_single_links() {
        let (limiter, clock) = limiter(600);
        let mut made = 0;
        for _ in 0..24 * 60 {
            if limiter.count_bulk("1", MAX_BULK).await.is_ok() {
                made += MAX_BULK;
            }
            clock.advance(MINUTE);
        }
        let at_most_the_rate = 24 * 60 * 500..=25 * 60 * 600;
        assert!(at_most_the_rate.contains(&made), "{made}");
    }

    #[tokio::test]
    async fn a_refused_call_counts_for_nothing() {
        let (limiter, clock) = limiter(600);
        assert_eq!(limiter.count_bulk("1", 10_000).await, Ok(()));
        let TooMany { retry_after } = limiter.count_bulk("1", 10_000).await.unwrap_err();
        assert_eq!(limiter.count_bulk("1", 200).await, Ok(()));
        assert!(limiter.count_bulk("1", 1).await.is_err());
        assert_eq!(limiter.count_bulk("2", 10_000).await, Ok(()));
        clock.advance(retry_after);
        assert_eq!(limiter.count_bulk("1", 10_000).await, Ok(()));
    }

    #[tokio::test]
    async fn zero_is_no_limit() {
        let (limiter, _) = limiter(0);
        for _ in 0..100 {
            assert_eq!(limiter.count_bulk("1", MAX_BULK).await, Ok(()));
        }
    }
}
