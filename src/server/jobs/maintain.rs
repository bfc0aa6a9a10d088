//! Maintains the database: when that is due, and at least once a second.

use std::time::Duration;

use tokio::time::timeout;

use crate::store::Store;
use crate::telemetry::throttle::FailureLog;

/// Longest pause between two runs.
const MAX_PAUSE: Duration = Duration::from_secs(1);

pub(super) async fn run(store: Store) {
    let mut failures = FailureLog::new("maintaining the database");
    loop {
        failures.note(&store.maintain().await);
        // Either it is due, or the pause is over.
        let _ = timeout(MAX_PAUSE, store.maintenance_is_due()).await;
    }
}
