//! Sends events to the receivers of hooks, and measures how that goes.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::runner::{every, ticks};
use crate::domain::{Clock, SystemClock};
use crate::events::HookWorker;
use crate::store::{Store, StoreError};
use crate::telemetry::metrics::{HOOK_WAITING, HOOKS, HOOKS_LAG, bounded};
use crate::telemetry::throttle::FailureLog;

const PAUSE: Duration = Duration::from_secs(1);

const MEASURES: Duration = Duration::from_secs(15);

/// Runs until the service drains; then other instances go on at once.
pub(super) async fn run(worker: Arc<HookWorker>, draining: CancellationToken) {
    let mut tasks = JoinSet::new();
    let looking = async {
        if let Err(error) = worker.begin().await {
            tracing::debug!(%error, "hooks go on when the leases of the process before are over");
        }
        let mut ticks = ticks(PAUSE);
        let mut failures = FailureLog::new("sending events to hooks");
        loop {
            ticks.tick().await;
            failures.note(&worker.look(&mut tasks).await);
        }
    };
    draining.run_until_cancelled(looking).await;
    tasks.shutdown().await;
    if let Err(error) = worker.release().await {
        tracing::debug!(%error, "hooks go on when their leases are over");
    }
}

/// Measures the hooks of the whole service.
pub(super) async fn measure(store: Store) {
    every(MEASURES, "counting hooks", || measure_once(&store)).await;
}

async fn measure_once(store: &Store) -> Result<(), StoreError> {
    let totals = store.hook_totals().await?;
    let working = totals.active.saturating_sub(totals.failing);
    metrics::gauge!(HOOKS, "state" => "active").set(bounded(working));
    metrics::gauge!(HOOKS, "state" => "failing").set(bounded(totals.failing));
    metrics::gauge!(HOOKS, "state" => "off").set(bounded(totals.off));
    metrics::gauge!(HOOK_WAITING).set(bounded(totals.waiting));
    let now = SystemClock.now();
    let lag = totals.oldest.map_or(0, |oldest| {
        now.unix_seconds().saturating_sub(oldest.unix_seconds())
    });
    metrics::gauge!(HOOKS_LAG).set(bounded(lag));
    Ok(())
}
