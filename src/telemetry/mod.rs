//! Logging, traces, and every metric's name, unit and help.

use std::io;
use std::time::Instant;

use anstream::{AutoStream, ColorChoice};
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, fmt, registry};

pub mod histogram;
pub mod metrics;
pub mod redirects;
pub mod requests;
pub mod throttle;
pub mod traces;

use traces::Traces;

/// For whom the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines: one JSON object a line.
    Json,
}

/// Lines of the log that wait for whoever reads them; further ones are dropped.
const LINES_AHEAD: usize = 8_192;

/// Begins logging to standard error, and tracing where a collector is named; later calls change nothing. A thread of
/// its own writes: nobody waits for a terminal that is held, or for a reader of the log that hangs. What it is behind
/// is written when the guard is dropped, within a second.
pub fn start_logging(format: LogFormat, filter: EnvFilter, traces: Option<&Traces>) -> WorkerGuard {
    let colours = AutoStream::choice(&io::stderr()) != ColorChoice::Never;
    let (writer, guard) = NonBlockingBuilder::default()
        .buffered_lines_limit(LINES_AHEAD)
        .lossy(true)
        .thread_name("log")
        .finish(io::stderr());
    let lines = fmt::layer().with_writer(writer).with_ansi(colours);
    let lines = match format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().boxed(),
    };
    let spans = traces.map(|traces| {
        // Where in the source a span is made is of no use to those who read traces.
        tracing_opentelemetry::layer()
            .with_tracer(traces.tracer())
            .with_location(false)
            .with_threads(false)
    });
    // A second call is a second server in one process (tests): the first one's log is good for both.
    let _ = registry().with(lines).with(spans).with(filter).try_init();
    guard
}

/// Seconds since `start`, the unit of all durations in metrics.
#[must_use]
pub fn seconds_since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64()
}
