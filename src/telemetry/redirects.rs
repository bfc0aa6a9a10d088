//! The metrics of the redirect path. Each worker makes its handles once, so that recording costs an atomic addition.

use std::sync::Arc;

use metrics::{Counter, counter};

use super::exposition::REDIRECT_DURATIONS;
use super::histogram::WorkerHistogram;
use super::metrics::{FALLBACKS, LOOKUPS, REDIRECTS};

/// Handles of the redirect path.
#[derive(Clone)]
pub struct RedirectMetrics {
    /// The process had the link cached.
    pub process: Counter,
    /// Redis had the link cached.
    pub redis: Counter,
    /// The database had the link; the look-up may have been started by another request.
    pub database: Counter,
    /// No link has the code.
    pub unknown: Counter,
    /// The link needs a password, which the client has not given.
    pub locked: Counter,
    /// The link is inactive.
    pub inactive: Counter,
    /// The link's time has not come.
    pub scheduled: Counter,
    /// The link's time is over.
    pub expired: Counter,
    /// The link has redirected as often as it may.
    pub used_up: Counter,
    /// The link is not followed, and the client was sent to its fallback.
    pub fallback: Counter,
    /// The same, by the reason.
    pub fallbacks: FallbackMetrics,
    /// The service's administrators took the link away.
    pub removed: Counter,
    /// The visitor's query was too long for the location.
    pub too_long: Counter,
    /// The client's address had too many unknown codes looked up.
    pub limited: Counter,
    /// The link could not be looked up.
    pub unavailable: Counter,
    /// From parsing the code to the acknowledgement.
    pub duration: Arc<WorkerHistogram>,
}

impl Default for RedirectMetrics {
    fn default() -> Self {
        let by_result = |result: &'static str| counter!(REDIRECTS, "result" => result);
        Self {
            process: by_result("process"),
            redis: by_result("redis"),
            database: by_result("database"),
            unknown: by_result("unknown"),
            locked: by_result("locked"),
            inactive: by_result("inactive"),
            scheduled: by_result("scheduled"),
            expired: by_result("expired"),
            used_up: by_result("used_up"),
            fallback: by_result("fallback"),
            fallbacks: FallbackMetrics::default(),
            removed: by_result("removed"),
            too_long: by_result("too_long"),
            limited: by_result("limited"),
            unavailable: by_result("unavailable"),
            duration: REDIRECT_DURATIONS.for_worker(),
        }
    }
}

/// Handles of visits that were sent to a fallback, by the reason why the link is not followed.
#[derive(Clone)]
pub struct FallbackMetrics {
    /// The link's time has not come.
    pub scheduled: Counter,
    /// The link's time is over.
    pub expired: Counter,
    /// The link has redirected as often as it may.
    pub used_up: Counter,
}

impl Default for FallbackMetrics {
    fn default() -> Self {
        let by_reason = |reason: &'static str| counter!(FALLBACKS, "reason" => reason);
        Self {
            scheduled: by_reason("scheduled"),
            expired: by_reason("expired"),
            used_up: by_reason("used_up"),
        }
    }
}

/// Handles of look-ups in the database.
#[derive(Clone)]
pub struct LookupMetrics {
    /// The response of the primary was used.
    pub primary: Counter,
    /// The response of the replica was used.
    pub replica: Counter,
}

impl Default for LookupMetrics {
    fn default() -> Self {
        let by_server = |server: &'static str| counter!(LOOKUPS, "server" => server);
        Self {
            primary: by_server("primary"),
            replica: by_server("replica"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::time::Instant;

    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::*;

    /// `cargo test --release --lib recording_a_redirect -- --ignored --nocapture` prints it.
    #[test]
    #[ignore = "a measurement, which cannot fail"]
    fn recording_a_redirect_costs() {
        const REDIRECTS: u32 = 20_000_000;
        let recorder = PrometheusBuilder::new().build_recorder();
        let metrics = metrics::with_local_recorder(&recorder, RedirectMetrics::default);
        let started = Instant::now();
        for _ in 0..REDIRECTS {
            let read = Instant::now();
            metrics.process.increment(1);
            metrics
                .duration
                .record(black_box(Instant::now()).duration_since(read));
        }
        let each = started.elapsed() / REDIRECTS;
        println!("recording a redirect costs {} ns", each.as_nanos());
    }
}
