//! `shunt serve`, `shunt migrate` and `shunt drop-parked-clicks`.

use std::error::Error;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use shunt::config::Config;
use shunt::server::{self, Shutdown};
use shunt::telemetry::{self, LogFilter, LogFormat, traces::Traces};

use super::{Failure, migrations, secret_flags};

/// Serves until it is asked to stop.
pub(super) fn serve(config: Config) -> Result<(), Failure> {
    start(config, async |config, log| {
        let files = raise_file_limit();
        let stop = Shutdown::on_signals()?;
        let metrics = telemetry::exposition::start()?;
        server::serve(config, files, metrics, log, stop).await?;
        Ok(())
    })
}

/// Brings the schema up to date.
pub(super) fn migrate(config: Config) -> Result<(), Failure> {
    start(config, async |config, _| {
        let report = match config.log_format {
            LogFormat::Text => migrations::print_text,
            LogFormat::Json => migrations::print_json,
        };
        migrations::print_database(&config);
        server::migrate(&config, report).await?;
        Ok(())
    })
}

/// Drops clicks in doubt that no configured Redis can settle.
pub(super) fn drop_parked_clicks(config: Config) -> Result<(), Failure> {
    start(config, async |config, _| {
        server::drop_parked_clicks(&config).await?;
        Ok(())
    })
}

/// Raises the limit of open files as far as the system allows: shells start programs with a far lower limit. Returns the new
/// limit, if it was raised.
fn raise_file_limit() -> Option<u64> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let current = maximum;
    // If the system does not allow that, the limit stays.
    let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum });
    getrlimit(Resource::Nofile).current
}

/// The memory of the process has secrets and passwords: no core dump is written, and no other process of the same user reads it.
fn forbid_core_dumps() {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    // If the system does not allow that, the supervisor's limit stays.
    let _ = setrlimit(Resource::Core, none);
    // A program that takes the dumps of the system is given them whatever the limit.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

pub(super) fn start(
    config: Config,
    work: impl AsyncFnOnce(Config, LogFilter) -> Result<(), Box<dyn Error>>,
) -> Result<(), Failure> {
    forbid_core_dumps();
    let config = config.checked().map_err(|error| Failure::of(&error))?;
    let settings = config.reloaded().map_err(|error| Failure::of(&error))?;
    let traces = config.otlp_endpoint.as_ref().map(Traces::start);
    let traces = traces.transpose().map_err(|error| Failure::of(&error))?;
    let logging =
        telemetry::start_logging(config.log_format, &settings.log_filter, traces.as_ref());
    let (log, _guard) = logging.map_err(|error| Failure::of(&error))?;
    secret_flags::warn();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::of(&error))?;
    let outcome = runtime.block_on(work(config, log));
    // Tasks that still run then, such as those of slow clients, are cut off.
    runtime.shutdown_background();
    if let Some(traces) = traces {
        traces.stop();
    }
    outcome.map_err(|error| Failure::of(&error))
}
