//! Sums visitor classes, and removes classes that are no longer kept by quarter of an hour, and classes of deleted links.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::runner::every;
use crate::clicks::Pace;
use crate::domain::{Clock, Interval};
use crate::shared_redis::{RedisShard, RedisShards};
use crate::store::{Details, Store, StoreError};
use crate::telemetry::throttle::FailureLog;

/// The pause between two sums, as a multiple of what a sum takes: each one writes the days of a busy link anew, so sums that have much
/// to do are rare. Parts that wait in Postgres keep flushes waiting, so they are merged as often as counts are.
const PAUSE_PER_SUM: u32 = 10;
const PAUSE_PER_MERGE: u32 = 1;

/// Bounds of that pause. With little to do, classes are summed half a second after their clicks are written back.
const MIN_PAUSE: Duration = Duration::from_millis(100);
const USUAL_PAUSE: Duration = Duration::from_millis(500);
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// Bounds of the pause after each step of a sum, as multiples of its duration. Postgres has half of the time for other work at
/// least.
const SHORTEST_PAUSE: f64 = 1.0;
const LONGEST_PAUSE: f64 = 8.0;

/// After how long a sum goes on without pauses where it is SQLite's: its steps are short, and what waits for them grows.
const PATIENCE: Duration = Duration::from_secs(4);

/// Pause between two removals.
const REMOVAL_PAUSE: Duration = Duration::from_mins(1);

/// Rows removed in one step: it takes some milliseconds.
const ROWS_PER_STEP: u32 = 1_000;

const DAY: Duration = Duration::from_hours(24);

pub(super) async fn run_sums(
    store: Store,
    redis: Option<RedisShards>,
    flush_interval: Duration,
    rows_per_day: u64,
) {
    let mut failures = FailureLog::new("summing the classes of clicks");
    loop {
        let mut summing = Duration::ZERO;
        let summed = async {
            let mut pace = if redis.is_some() {
                Pace::within(SHORTEST_PAUSE..=LONGEST_PAUSE)
            } else {
                Pace::within(0.0..=LONGEST_PAUSE).with_patience(PATIENCE)
            };
            loop {
                let started = Instant::now();
                let are_more = store.details.sum_details(rows_per_day).await?;
                summing += started.elapsed();
                if !are_more {
                    return Ok::<_, StoreError>(());
                }
                let delays = redis
                    .iter()
                    .flat_map(RedisShards::iter)
                    .map(RedisShard::delay);
                let delay = delays
                    .chain([store.append_delay()])
                    .flatten()
                    .reduce(f64::max);
                pace.rest_after(started.elapsed(), delay).await;
            }
        };
        failures.note(&summed.await);
        let pause = if store.has_one_process() {
            summing * PAUSE_PER_SUM
        } else {
            summing * PAUSE_PER_MERGE
        };
        sleep(bounded(pause, flush_interval)).await;
    }
}

/// Within the bounds of a pause.
fn bounded(pause: Duration, flush_interval: Duration) -> Duration {
    let shortest = (flush_interval / 2).clamp(MIN_PAUSE, USUAL_PAUSE);
    pause.clamp(shortest, MAX_PAUSE)
}

pub(super) async fn run_removals(details: Arc<dyn Details>, clock: Arc<dyn Clock>, days: u32) {
    every(REMOVAL_PAUSE, "removing classes of clicks", || async {
        let kept_from = clock.now().before(DAY * days);
        let before = Interval::of(kept_from).start_of_day();
        loop {
            let started = Instant::now();
            let pruned = details.prune_details(before, ROWS_PER_STEP).await?;
            let are_more = details.remove_details_of_deleted(ROWS_PER_STEP).await?;
            if pruned == 0 && !are_more {
                return Ok::<_, StoreError>(());
            }
            sleep(started.elapsed()).await;
        }
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_is_half_a_second_unless_sums_keep_the_database_busy() {
        let pause = |millis| {
            let pause = PAUSE_PER_SUM * Duration::from_millis(millis);
            bounded(pause, Duration::from_secs(1)).as_millis()
        };
        assert_eq!([0, 50, 300, 5_000].map(pause), [500, 500, 3_000, 10_000]);
    }
}
