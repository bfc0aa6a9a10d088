//! `shunt serve` and `shunt migrate`.

use std::error::Error;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use shunt::config::Config;
use shunt::server::{self, Shutdown};
use shunt::telemetry::{self, traces::Traces};
use tracing_subscriber::EnvFilter;

use super::Failure;

/// Files that are neither clients' nor to databases: listeners, files of SQLite, a restart's leftovers.
const OWN_FILES: u64 = 128;

/// Connections to a shard of Redis that are not a worker's: the main runtime's, those of occasional calls, of changes
/// and of what is left over.
const OF_A_SHARD: usize = 16;

/// Connections of a worker to a shard: for its clicks and for its look-ups.
const OF_A_WORKER: usize = 2;

/// Serves until it is told to stop.
pub(super) fn serve(config: Config) -> Result<(), Failure> {
    start(config, async |mut config| {
        if let Some(files) = raise_file_limit() {
            fit_clients_into(files, &mut config);
        }
        let stop = Shutdown::on_signals()?;
        let metrics = telemetry::metrics::start()?;
        server::serve(config, metrics, stop).await?;
        Ok(())
    })
}

/// Brings the schema up to date.
pub(super) fn migrate(config: Config) -> Result<(), Failure> {
    start(config, async |config| {
        server::migrate(&config).await?;
        Ok(())
    })
}

/// As many files as the system grants: shells start programs with far fewer. How many there may be now, unless
/// there is no limit.
fn raise_file_limit() -> Option<u64> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let current = maximum;
    // Where it is not allowed, fewer have to do.
    let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum });
    getrlimit(Resource::Nofile).current
}

/// Bounds how many clients are let in, so that however many come, the databases are reached.
fn fit_clients_into(files: u64, config: &mut Config) {
    let of_databases = 2 * u64::from(config.database_max_connections);
    let shards = match &config.redis {
        None => 0,
        Some(urls) => usize::from(urls.shards()),
    };
    let of_redis = shards * (OF_A_SHARD + OF_A_WORKER * config.workers);
    let left = files.saturating_sub(OWN_FILES + of_databases + of_redis as u64);
    let fit = usize::try_from(left.max(files / 2)).unwrap_or(usize::MAX);
    let wanted = config.guards.max_connections;
    if wanted > fit {
        tracing::warn!(
            "MAX_CONNECTIONS is {wanted}, but {files} files may be open: {fit} clients are let in; raise the limit of open files"
        );
        config.guards.max_connections = fit;
    }
}

fn start(
    config: Config,
    work: impl AsyncFnOnce(Config) -> Result<(), Box<dyn Error>>,
) -> Result<(), Failure> {
    let config = config.checked().map_err(|error| Failure::of(&error))?;
    let filter = EnvFilter::try_new(&config.log_filter).map_err(|error| Failure::of(&error))?;
    // What Postgres remarks at each start, such as that a table is there already, is no news.
    let quiet = "sqlx::postgres::notice=warn"
        .parse()
        .expect("it is a directive");
    let filter = filter.add_directive(quiet);
    let traces = config.otlp_endpoint.as_ref().map(Traces::start);
    let traces = traces.transpose().map_err(|error| Failure::of(&error))?;
    let _log = telemetry::start_logging(config.log_format, filter, traces.as_ref());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::of(&error))?;
    let outcome = runtime.block_on(work(config));
    // What still runs then (a client that will not be hurried) is cut off.
    runtime.shutdown_background();
    if let Some(traces) = traces {
        traces.stop();
    }
    outcome.map_err(|error| Failure::of(&error))
}
