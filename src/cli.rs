//! Sub-commands and exit codes.

use std::error::Error;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use shunt::config::{Config, Settings};
use shunt::server::{self, Stop};
use shunt::telemetry;
use tracing_subscriber::EnvFilter;

/// A URL shortener whose redirect is as cheap as a static map, and whose every answered click is counted
/// exactly once.
#[derive(Parser)]
#[command(name = "shunt", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    settings: Settings,
}

#[derive(Subcommand)]
enum Command {
    /// Serve (what `shunt` alone does).
    Serve(Settings),
    /// Bring the schema of the database up to date, and nothing else.
    Migrate(Settings),
}

/// Reads the settings and does what was asked. 0: done; 1: a setting is wrong or something failed;
/// 2: the command line cannot be read.
pub(crate) fn run() -> ExitCode {
    let cli = Cli::parse();
    let (settings, serving) = match cli.command {
        None => (cli.settings, true),
        Some(Command::Serve(settings)) => (settings, true),
        Some(Command::Migrate(settings)) => (settings, false),
    };
    match start(settings, serving) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("shunt: {error}");
            ExitCode::FAILURE
        }
    }
}

fn start(settings: Settings, serving: bool) -> Result<(), Box<dyn Error>> {
    let config = settings.check()?;
    telemetry::start_logging(config.log_format, EnvFilter::try_new(&config.log_filter)?);
    let runtime = server::main_runtime()?;
    let outcome = runtime.block_on(async {
        if serving {
            serve(config).await
        } else {
            server::migrate(&config).await.map_err(Into::into)
        }
    });
    // What still runs then (a client that will not be hurried) is cut off.
    runtime.shutdown_background();
    outcome
}

async fn serve(config: Config) -> Result<(), Box<dyn Error>> {
    let stop = Stop::on_signals()?;
    let metrics = telemetry::metrics::start()?;
    server::serve(config, metrics, stop).await?;
    Ok(())
}
