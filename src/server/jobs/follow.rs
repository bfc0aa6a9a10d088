//! Follows the changes of links in the database, on an instance without Redis.

use std::sync::Arc;
use std::time::Duration;

use super::runner::ticks;
use crate::clicks::LinkChanges;
use crate::telemetry::throttle::FailureLog;

/// Pause between two readings: how long a change of another instance may go unnoticed.
const PAUSE: Duration = Duration::from_millis(500);

pub(super) async fn run(link_changes: Arc<LinkChanges>) {
    let mut ticks = ticks(PAUSE);
    let mut failures = FailureLog::new("following changes of links");
    loop {
        ticks.tick().await;
        failures.note(&link_changes.follow().await);
    }
}
