//! Sub-commands and exit codes.

use std::ffi::OsStr;
use std::process::ExitCode;

use clap::builder::Resettable;
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use shunt::config::Settings;

mod client;
mod failure;
mod healthcheck;
mod manual;
mod output;
mod service;
mod settings_in_force;

use failure::Failure;

/// Shown below the help of every command that has more to say than done and failed.
const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  failed: a setting is wrong, or the service refused
  2  the command line cannot be read
  3  not logged in, or e-mail or password are wrong
  4  no such link
  5  the service cannot be reached, or asks to come back later";

/// A URL shortener whose redirect is nearly as cheap as a static map, and whose every answered click is counted
/// exactly once.
///
/// Without a command it serves.
#[derive(Parser)]
#[command(name = "shunt", version, args_conflicts_with_subcommands = true, after_help = EXIT_CODES)]
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
    /// Print the settings in force and where each comes from; passwords and secrets are hidden.
    Config(settings_in_force::ConfigArgs),
    /// Ask the service on this machine whether it is ready: for containers.
    Healthcheck(healthcheck::HealthcheckArgs),
    #[command(flatten)]
    Client(client::Command),
    /// Print the completions for a shell.
    Completions {
        /// For which shell.
        shell: Shell,
    },
    /// Print the manual page of `shunt`, or of one of its commands.
    Man {
        /// For which command.
        command: Option<String>,
    },
}

/// Reads the command line and does what was asked; [`EXIT_CODES`] says what the code means.
pub(crate) fn run() -> ExitCode {
    let given = match without_empty_variables(Cli::command()).try_get_matches() {
        Ok(given) => given,
        Err(error) => {
            let unreadable =
                unreadable_setting().filter(|_| error.kind() == ErrorKind::InvalidUtf8);
            let Some(name) = unreadable else { error.exit() };
            let failure = Failure::Failed(format!("{name}: is no text in UTF-8"));
            failure.report(false);
            return failure.exit_code();
        }
    };
    let cli = Cli::from_arg_matches(&given).unwrap_or_else(|error| error.exit());
    let json_errors = match &cli.command {
        None => cli.settings.log_is_json(),
        Some(Command::Serve(settings) | Command::Migrate(settings)) => settings.log_is_json(),
        Some(Command::Client(command)) => command.wants_json(),
        Some(_) => false,
    };
    match carry_out(cli, &given) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report(json_errors);
            failure.exit_code()
        }
    }
}

/// An empty variable counts as not given: what starts programs often cannot leave one out. But for the database:
/// whoever meant Postgres must not be served from a new file.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let is_empty = |arg: &Arg| {
        let name = arg.get_env().filter(|name| *name != "DATABASE_URL");
        let value = name.and_then(std::env::var_os);
        value.is_some_and(|value| value.is_empty())
    };
    command
        .mut_args(|arg| {
            if is_empty(&arg) {
                arg.env(Resettable::Reset)
            } else {
                arg
            }
        })
        .mut_subcommands(without_empty_variables)
}

/// A variable of the environment that is no text: clap does not say which.
fn unreadable_setting() -> Option<String> {
    let described = Settings::augment_args(clap::Command::new("settings"));
    let mut names = described.get_arguments().filter_map(Arg::get_env);
    let is_no_text =
        |name: &&OsStr| std::env::var_os(name).is_some_and(|value| value.to_str().is_none());
    names
        .find(is_no_text)
        .map(|name| name.to_string_lossy().into_owned())
}

fn carry_out(cli: Cli, given: &ArgMatches) -> Result<(), Failure> {
    match cli.command {
        None => service::serve(cli.settings),
        Some(Command::Serve(settings)) => service::serve(settings),
        Some(Command::Migrate(settings)) => service::migrate(settings),
        Some(Command::Config(args)) => {
            // Where a value comes from is known to the matches of the sub-command only.
            let given = given.subcommand().map_or(given, |(_, given)| given);
            settings_in_force::print(args, given)
        }
        Some(Command::Healthcheck(args)) => healthcheck::ask(&args),
        Some(Command::Client(command)) => client::run(command),
        Some(Command::Completions { shell }) => manual::completions(Cli::command(), shell),
        Some(Command::Man { command }) => manual::page(Cli::command(), command.as_deref()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
