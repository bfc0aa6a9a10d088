//! The command line: sub-commands, help and exit codes.

use std::process::ExitCode;

use clap::builder::{Resettable, ValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use shunt::config::{Config, ConfigError};

mod client;
mod failure;
mod healthcheck;
mod manual;
mod output;
mod service;
mod settings_in_force;

use failure::{EXIT_CODES, Failure};

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
    config: Config,
}

#[derive(Subcommand)]
enum Command {
    /// Serve (what `shunt` alone does).
    Serve(Config),
    /// Bring the schema of the database up to date, and nothing else.
    Migrate(Config),
    /// Drop clicks in doubt that are parked for a Redis which is gone. Give the settings that the service is to start with.
    DropParkedClicks(Config),
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
    let command = without_empty_variables(Cli::command());
    let parsed =
        given(command.clone()).and_then(|given| Ok((Cli::from_arg_matches(&given)?, given)));
    let (outcome, is_json) = match parsed {
        Ok((cli, given)) => {
            let is_json = wants_json_errors(&given);
            (carry_out(cli, &given), is_json)
        }
        Err(refusal) => {
            let Some(wrong) = ConfigError::behind(&refusal) else {
                without_password(refusal).exit()
            };
            let unchecked = given(with_unchecked_values(command));
            let is_json = unchecked.is_ok_and(|given| wants_json_errors(&given));
            (Err(Failure::of(wrong)), is_json)
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report(is_json);
            failure.exit_code()
        }
    }
}

/// The refusal of an address, without the address if that may hold a password: clap shows wrong values.
fn without_password(mut refusal: clap::Error) -> clap::Error {
    let value = refusal.get(ContextKind::InvalidValue);
    if matches!(value, Some(ContextValue::String(value)) if value.contains('@')) {
        let hidden = ContextValue::String("***".into());
        refusal.insert(ContextKind::InvalidValue, hidden);
    }
    refusal
}

/// What the command line and the environment say.
fn given(command: clap::Command) -> Result<ArgMatches, clap::Error> {
    // With a sub-command, the settings of `shunt` alone are not in force, and a wrong variable is no error.
    let without_variables = |arg: Arg| arg.env(Resettable::Reset);
    match command
        .clone()
        .mut_args(without_variables)
        .try_get_matches()
    {
        Ok(given) if given.subcommand().is_some() => Ok(given),
        _ => command.try_get_matches(),
    }
}

/// Whether a program reads the command's errors, because it reads its log or its output.
fn wants_json_errors(given: &ArgMatches) -> bool {
    let has_json_log = |given: &ArgMatches| {
        let format = given.get_raw("log_format").and_then(|mut raw| raw.next());
        format.is_some_and(|format| format == "json")
    };
    match given.subcommand() {
        None => has_json_log(given),
        Some(("serve" | "migrate" | "drop-parked-clicks", given)) => has_json_log(given),
        Some(("config", _)) => false,
        Some((_, given)) => given
            .try_get_one("json")
            .is_ok_and(|json| json == Some(&true)),
    }
}

/// The same command line, on which no value is wrong.
fn with_unchecked_values(command: clap::Command) -> clap::Command {
    command
        .mut_args(|arg| {
            if arg.get_action().takes_values() {
                arg.value_parser(ValueParser::os_string())
            } else {
                arg
            }
        })
        .mut_subcommands(with_unchecked_values)
}

/// An empty variable counts as not given: container engines and unit files often cannot leave one out. The database is
/// the exception: an empty `DATABASE_URL` that was meant for Postgres must not start on a new file.
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

fn carry_out(cli: Cli, given: &ArgMatches) -> Result<(), Failure> {
    match cli.command {
        None => service::serve(cli.config),
        Some(Command::Serve(config)) => service::serve(config),
        Some(Command::Migrate(config)) => service::migrate(config),
        Some(Command::DropParkedClicks(config)) => service::drop_parked_clicks(config),
        Some(Command::Config(args)) => {
            // Only the matches of the sub-command know where a value comes from.
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
