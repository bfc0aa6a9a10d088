//! Pings the database every second, for the metric that says whether it is up.

use std::time::Duration;

use tokio::time::timeout;

use super::runner::every;
use crate::store::{Store, StoreError};
use crate::telemetry::metrics::DATABASE_UP;

/// Pause between two pings, and the longest that one may take.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) async fn run(store: Store) {
    every(PAUSE, "reaching the database", || async {
        let late = || StoreError::Unavailable("it did not answer within 1 s".into());
        let answered = timeout(PAUSE, store.ping()).await;
        let answered = answered.unwrap_or_else(|_| Err(late()));
        metrics::gauge!(DATABASE_UP).set(u8::from(answered.is_ok()));
        answered
    })
    .await;
}
