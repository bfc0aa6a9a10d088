//! Agrees with the other instances on the key of the day, and forgets the keys of past days.

use std::time::Duration;

use super::runner::every;
use crate::analytics::DailyKeys;

/// Pause between two runs.
const PAUSE: Duration = Duration::from_secs(5);

pub(super) async fn run(keys: DailyKeys) {
    every(PAUSE, "reading the key of the day", || keys.refresh()).await;
}
