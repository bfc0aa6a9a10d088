//! Reads the hosts beside the service's own anew once one of them may have changed, here or at another instance.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::links::LinkService;
use crate::telemetry::throttle::FailureLog;

/// The pause between two readings: many changes at once are one.
const PAUSE: Duration = Duration::from_millis(200);

/// How long nothing is read if nothing is told: at first, as a change may be told before this instance follows changes.
const FIRST_WAIT: Duration = Duration::from_secs(2);
const WAIT: Duration = Duration::from_mins(1);

pub(super) async fn run(links: Arc<LinkService>) {
    let changed = links.cache.hosts_changed();
    let mut failures = FailureLog::new("reading the hosts of the service");
    let mut wait = FIRST_WAIT;
    loop {
        let _ = timeout(wait, changed.notified()).await;
        let read = links.reload_hosts().await;
        wait = if read.is_ok() { WAIT } else { FIRST_WAIT };
        failures.note(&read);
        sleep(PAUSE).await;
    }
}
