//! The command line: sub-commands, help and exit codes.

use std::process::ExitCode;

use clap::builder::{Resettable, ValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use shunt::config::{Config, ConfigError};

mod admin;
mod check_oidc;
mod client;
mod failure;
mod harmless;
mod healthcheck;
mod manual;
mod migrations;
mod number;
mod output;
mod secret_flags;
mod service;
mod settings_in_force;

use failure::{EXIT_CODES_OF_HEALTHCHECK, EXIT_CODES_OF_SERVICE, ErrorForm, Failure, exit_codes};

/// Settings in the short help (`-h`): those of a first start, and that of the client commands.
const IN_SHORT_HELP: [&str; 6] = [
    "BIND",
    "BASE_URL",
    "DATABASE_URL",
    "REDIS_URL",
    "JWT_SECRET",
    "SHUNT_URL",
];

/// What the help of a command with settings says about the settings that it leaves out.
const FURTHER_SETTINGS: &str =
    "All other settings are accepted, too: `shunt --help` and `shunt man` list them.";

/// A URL shortener: redirects nearly as cheap as a static map, every click counted exactly once.
///
/// Without a command, it serves.
#[derive(Parser)]
#[command(name = "shunt", version, args_conflicts_with_subcommands = true)]
#[command(
    after_help = "`shunt --help` also lists the commands for operators, all settings and the exit codes."
)]
#[command(after_long_help = exit_codes!(0 1 2 3 4 5))]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    config: Config,
}

#[derive(Subcommand)]
enum Command {
    /// Serve (the default).
    #[command(after_long_help = EXIT_CODES_OF_SERVICE)]
    Serve(Config),
    /// Bring the schema of the database up to date, print each step, and do nothing else.
    #[command(after_long_help = EXIT_CODES_OF_SERVICE)]
    Migrate(Config),
    /// Administer accounts and domains, directly on the database, while the service runs or not.
    #[command(after_long_help = EXIT_CODES_OF_SERVICE)]
    Admin {
        #[command(subcommand)]
        action: admin::Action,
    },
    /// Drop the parked clicks in doubt of a Redis that is gone. Give the settings that the service will start with.
    DropParkedClicks(Config),
    /// Print the settings in force and where each comes from; passwords and secrets are hidden.
    #[command(after_long_help = EXIT_CODES_OF_SERVICE)]
    Config(settings_in_force::ConfigArgs),
    /// Check whether the service on this machine is ready; for containers.
    #[command(after_long_help = EXIT_CODES_OF_HEALTHCHECK)]
    Healthcheck(healthcheck::HealthcheckArgs),
    #[command(flatten)]
    Client(client::Command),
    /// Print shell completions.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the manual page of `shunt`, or of one of its commands.
    Man {
        /// The command, such as `list` or `keys create`.
        command: Vec<String>,
    },
}

/// Reads the command line and does what was asked; the help says what the exit code means.
pub(crate) fn run() -> ExitCode {
    let mut command = with_short_help(Cli::command()).mut_subcommands(without_settings);
    let mut words = std::env::args_os().skip(1).peekable();
    if words.peek().is_some_and(|word| word != "help") && words.any(|word| word == "-h") {
        command = for_clients(command);
    }
    let command = without_empty_variables(command);
    let parsed =
        given(command.clone()).and_then(|given| Ok((Cli::from_arg_matches(&given)?, given)));
    let (outcome, form) = match parsed {
        Ok((cli, given)) => {
            let form = error_form(&given);
            (carry_out(cli, &given), form)
        }
        Err(refusal) => {
            let unchecked = given(with_unchecked_values(command).ignore_errors(true));
            let form = match unchecked {
                _ if asks_for_json() => ErrorForm::Json,
                Ok(given) => error_form(&given),
                Err(_) => ErrorForm::Text,
            };
            let failure = match ConfigError::behind(&refusal) {
                Some(wrong) => Failure::of(wrong),
                None if form != ErrorForm::Text && refusal.use_stderr() => {
                    Failure::Usage(first_lines(&without_password(refusal)))
                }
                None => without_password(refusal).exit(),
            };
            (Err(failure), form)
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report(form);
            failure.exit_code()
        }
    }
}

/// The same command line, whose short help (`-h`) fits on a screen.
fn with_short_help(command: clap::Command) -> clap::Command {
    command
        .mut_args(|arg| {
            let is_left_out = is_left_out(&arg);
            arg.hide_short_help(is_left_out)
        })
        .mut_subcommands(with_short_help)
}

/// The same command, whose help (`--help`) leaves out most settings: the help of `shunt` itself has all of them.
fn without_settings(command: clap::Command) -> clap::Command {
    let has_settings = command.get_arguments().any(is_left_out);
    let command = command.mut_args(|arg| {
        let is_left_out = is_left_out(&arg);
        arg.hide_long_help(is_left_out)
    });
    let command = match command.get_after_long_help().cloned() {
        Some(more) if has_settings => {
            command.after_long_help(format!("{FURTHER_SETTINGS}\n\n{more}"))
        }
        None if has_settings => command.after_long_help(FURTHER_SETTINGS),
        _ => command,
    };
    command.mut_subcommands(without_settings)
}

/// Whether it is a setting that only the longest help has.
fn is_left_out(arg: &Arg) -> bool {
    let name = arg.get_env().map(|name| name.to_string_lossy());
    name.is_some_and(|name| !IN_SHORT_HELP.contains(&&*name))
}

/// The same command line, whose help lists only the commands of clients. Clap hides a command from both helps or from neither.
fn for_clients(command: clap::Command) -> clap::Command {
    command
        .disable_help_subcommand(true)
        .mut_subcommands(|sub| {
            let is_of_clients = client::Command::has_subcommand(sub.get_name());
            sub.hide(!is_of_clients)
        })
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

/// What is wrong with the command line, in one line.
fn first_lines(refusal: &clap::Error) -> String {
    let text = refusal.to_string();
    let lines = text.lines().take_while(|line| !line.is_empty());
    let lines: Vec<_> = lines.map(str::trim).collect();
    lines.join(" ").trim_start_matches("error: ").to_owned()
}

/// Whether an invalid command line has `--json`: clap reads nothing after its fault.
fn asks_for_json() -> bool {
    let words = std::env::args_os().skip(1);
    let mut words = words.take_while(|word| word != "--");
    words.any(|word| word == "--json")
}

/// What the command line and the environment say.
fn given(command: clap::Command) -> Result<ArgMatches, clap::Error> {
    // With a sub-command, only the settings of that command are in force, and other wrong variables are ignored.
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

/// The form of the command's errors: a program may read its log, or its output.
fn error_form(given: &ArgMatches) -> ErrorForm {
    let of_log = |given: &ArgMatches| {
        let format = given.get_raw("log_format").and_then(|mut raw| raw.next());
        if format.is_some_and(|format| format == "json") {
            ErrorForm::Log
        } else {
            ErrorForm::Text
        }
    };
    let of_client = |given: &ArgMatches| match given.try_get_one("json") {
        Ok(Some(true)) => ErrorForm::Json,
        _ => ErrorForm::Text,
    };
    match given.subcommand() {
        None => of_log(given),
        Some(("keys" | "pool" | "tags", given)) => {
            of_client(given.subcommand().map_or(given, |(_, given)| given))
        }
        Some(("admin", given)) => match given.subcommand() {
            Some(("domain", given)) => given
                .subcommand()
                .map_or(ErrorForm::Text, |(_, given)| of_log(given)),
            Some((_, given)) => of_log(given),
            None => ErrorForm::Text,
        },
        Some(("serve" | "migrate" | "drop-parked-clicks", given)) => of_log(given),
        Some((_, given)) => of_client(given),
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
        Some(Command::Admin { action }) => admin::run(action),
        Some(Command::DropParkedClicks(config)) => service::drop_parked_clicks(config),
        Some(Command::Config(args)) => {
            // Only the matches of the sub-command know where a value comes from.
            let given = given.subcommand().map_or(given, |(_, given)| given);
            settings_in_force::print(args, given)
        }
        Some(Command::Healthcheck(args)) => healthcheck::ask(&args),
        Some(Command::Client(command)) => client::run(command),
        Some(Command::Completions { shell }) => manual::completions(Cli::command(), shell),
        Some(Command::Man { command }) => manual::page(Cli::command(), &command),
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
