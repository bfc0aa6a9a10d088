//! Logging, and every metric's name, unit and help.

use std::time::Instant;

use tracing_subscriber::EnvFilter;

pub mod durations;
pub mod metrics;

/// For whom the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines: one JSON object a line.
    Json,
}

/// Begins logging to standard error; later calls change nothing.
pub fn start_logging(format: LogFormat, filter: EnvFilter) {
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // A second call is a second server in one process (tests): the first one's log is good for both.
    let _ = match format {
        LogFormat::Text => subscriber.try_init(),
        LogFormat::Json => subscriber.json().try_init(),
    };
}

/// Seconds since `start`, the unit of all durations in metrics.
#[must_use]
pub fn seconds_since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64()
}
