//! Maintains the database: when that is due, and at least once a second.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::store::Database;
use crate::telemetry::throttle::FailureLog;

/// Longest pause between two runs.
const MAX_PAUSE: Duration = Duration::from_secs(1);

pub(super) async fn run(database: Arc<dyn Database>) {
    let mut failures = FailureLog::new("maintaining the database");
    loop {
        failures.note(&database.maintain().await);
        // Either it is due, or the pause is over.
        let _ = timeout(MAX_PAUSE, database.maintenance_is_due()).await;
    }
}
