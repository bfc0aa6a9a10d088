//! Logs, traces and metrics.

use std::io;
use std::time::Instant;

use anstream::{AutoStream, ColorChoice};
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt, registry, reload};

pub mod acknowledgements;
pub mod cpu;
pub mod exposition;
pub mod histogram;
pub mod line;
mod log_writer;
pub mod metrics;
pub mod redirects;
pub mod requests;
pub mod throttle;
pub mod traces;

pub use log_writer::LogGuard;
use traces::Traces;

/// The form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines: one JSON object a line.
    Json,
}

/// Starts logging to standard error, and tracing if a collector is given; later calls change nothing.
///
/// Buffered lines are written when the guard is dropped, within a second.
///
/// # Errors
/// [`WrongFilter`].
pub fn start_logging(
    format: LogFormat,
    filter: &str,
    traces: Option<&Traces>,
) -> Result<(LogFilter, LogGuard), WrongFilter> {
    let (filter, handle) = reload::Layer::new(parse(filter)?);
    let colours = AutoStream::choice(&io::stderr()) != ColorChoice::Never;
    let (writer, guard) = log_writer::start(io::stderr()).expect("the system starts threads");
    let lines = fmt::layer()
        .with_writer(move || writer.clone())
        .with_ansi(colours);
    let lines = match format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => {
            line::log_panics_as_json();
            lines.json().boxed()
        }
    };
    let spans = traces.map(|traces| {
        // Source locations and threads are of no use to readers of traces.
        tracing_opentelemetry::layer()
            .with_tracer(traces.tracer())
            .with_location(false)
            .with_threads(false)
    });
    // A second call comes from a second server in one process (tests), which uses the log of the first.
    let _ = registry().with(filter).with(lines).with(spans).try_init();
    Ok((LogFilter(handle), guard))
}

/// What is logged, which may be changed while the service runs.
#[derive(Clone)]
pub struct LogFilter(reload::Handle<EnvFilter, Registry>);

/// Text that is not a filter.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct WrongFilter(#[from] ParseError);

impl LogFilter {
    /// Logs by another filter from now on.
    ///
    /// # Errors
    /// [`WrongFilter`].
    pub fn set(&self, filter: &str) -> Result<(), WrongFilter> {
        let filter = parse(filter)?;
        // A log that is gone has no reader.
        let _ = self.0.reload(filter);
        Ok(())
    }
}

fn parse(filter: &str) -> Result<EnvFilter, ParseError> {
    let filter = EnvFilter::try_new(filter)?
        // Notices of Postgres come at each start, such as that a table exists already.
        .add_directive("sqlx::postgres::notice=warn".parse()?)
        // The addresses of listeners are logged at every level.
        .add_directive("shunt::listening=info".parse()?);
    Ok(filter)
}

/// Seconds since `start`, the unit of all durations in metrics.
#[must_use]
pub fn seconds_since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64()
}
