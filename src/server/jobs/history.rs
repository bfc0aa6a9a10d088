//! Checks every second whether the database went back.

use std::time::Duration;

use super::runner::ticks;
use crate::server::history::HistoryWatch;
use crate::telemetry::throttle::FailureLog;

const PAUSE: Duration = Duration::from_secs(1);

pub(super) async fn run(mut watch: HistoryWatch) {
    let mut ticks = ticks(PAUSE);
    let mut failures = FailureLog::new("checking the history of the database");
    loop {
        ticks.tick().await;
        failures.note(&watch.check().await);
    }
}
