//! Writes clicks back to the links, regularly and once more at the shutdown.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::flush_times::FlushTimes;
use crate::clicks::{FlushError, FlushOutcome, Flushed, Flusher};
use crate::telemetry::metrics::{
    FLUSH_DURATION, FLUSH_ERRORS, FLUSHED_CLICKS, FLUSHED_LINKS, LAST_FLUSH_CLICKS, bounded,
};
use crate::telemetry::throttle::FailureLog;

/// How long a stopping instance waits for another one that flushes, and how often it looks: where all instances stop at
/// once, the last one has to write back.
const OTHERS_TIMEOUT: Duration = Duration::from_secs(2);
const OTHERS_PAUSE: Duration = Duration::from_millis(100);

/// How long a merge waits for a flush.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// Flushes, and rests for `interval` after each flush.
pub(super) async fn run(flusher: Arc<Flusher>, times: Arc<FlushTimes>, interval: Duration) {
    let mut failures = FailureLog::new("writing clicks back");
    loop {
        let outcome = flush(&flusher).await;
        times.note(&outcome.done);
        failures.note(&outcome.failure.map_or(Ok(()), Err));
        sleep(interval).await;
    }
}

/// Moves the clicks of flushes into the counts of their links, as soon as they are flushed. After a long merge the next one waits as
/// long, so that it adds the clicks of several flushes to a link at once.
pub(super) async fn run_merges(flusher: Arc<Flusher>) {
    let mut failures = FailureLog::new("merging clicks");
    loop {
        let started = Instant::now();
        let merged = flusher.merge_clicks().await.map(count);
        failures.note(&merged);
        sleep(started.elapsed()).await;
        // Another instance may flush without this one.
        let _ = timeout(LONGEST_REST, flusher.flushed()).await;
    }
}

fn count(written: Flushed) {
    metrics::counter!(FLUSHED_CLICKS).increment(written.clicks);
    metrics::counter!(FLUSHED_LINKS).increment(written.links);
}

/// Flushes once. After a failure, the next flush makes up for it.
async fn flush(flusher: &Flusher) -> FlushOutcome {
    let started = Instant::now();
    let outcome = flusher.flush().await;
    if !flusher.merges_apart() {
        count(outcome.flushed);
    }
    if outcome.failure.is_some() {
        metrics::counter!(FLUSH_ERRORS).increment(1);
    } else {
        metrics::gauge!(LAST_FLUSH_CLICKS).set(bounded(outcome.flushed.clicks));
        metrics::histogram!(FLUSH_DURATION).record(started.elapsed().as_secs_f64());
    }
    outcome
}

/// Writes back the rest before the process ends. Clicks whose flush fails stay in Redis or in the journal, and are
/// written back later.
pub(in crate::server) async fn last_flush(flusher: &Flusher, deadline: Instant) {
    let end_of_others = Instant::now() + OTHERS_TIMEOUT;
    let last = async {
        // Twice: the first one finishes a flush that the shutdown cut short, without the clicks that came since.
        for _ in 0..2 {
            let mut outcome = flush(flusher).await;
            while outcome.is_shared && Instant::now() < end_of_others {
                sleep(OTHERS_PAUSE).await;
                outcome = flush(flusher).await;
            }
            if let Some(error) = &outcome.failure {
                tracing::warn!(%error, "clicks are left to be written back after the next start");
            }
            if let Some(FlushError::Store(_)) = outcome.failure {
                break;
            }
        }
        if flusher.merges_apart()
            && let Err(error) = flusher.merge_clicks().await.map(count)
        {
            tracing::debug!(%error, "clicks are left to be merged after the next start");
        }
        if let Err(error) = flusher.release().await {
            tracing::debug!(%error, "the lease on flushing is left to expire");
        }
    };
    if timeout_at(deadline, last).await.is_err() {
        tracing::warn!(
            "the last flush was cut short; the rest is written back after the next start"
        );
    }
}
