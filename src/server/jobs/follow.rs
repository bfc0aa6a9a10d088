//! Follows the changes of links in the database, on an instance without Redis.

use std::sync::Arc;
use std::time::Duration;

use super::runner::ticks;
use crate::cache::LinkCache;
use crate::links::ChangeFollower;
use crate::store::Outbox;
use crate::telemetry::throttle::FailureLog;

/// Pause between two readings: how long another instance's change may go unnoticed.
const PAUSE: Duration = Duration::from_millis(500);

pub(super) async fn run(outbox: Arc<dyn Outbox>, cache: LinkCache) {
    let mut ticks = ticks(PAUSE);
    let mut failures = FailureLog::new("following changes of links");
    let mut follower = ChangeFollower::default();
    loop {
        ticks.tick().await;
        failures.note(&follower.follow(&*outbox, &cache).await);
    }
}
