//! The client commands: accounts and links from a terminal.

use clap::Subcommand;

use super::failure::{Failure, exit_codes};
use super::output;

mod account;
mod api;
mod link;
mod list;
mod password;
mod service_args;
mod service_url;
mod token_file;

use api::Api;
use service_args::ServiceArgs;

/// What a client can ask for.
#[derive(Subcommand)]
pub(super) enum Command {
    /// Create an account and log in.
    ///
    /// The password is asked for, or read from standard input where that is no terminal. The token is kept in
    /// `$XDG_CONFIG_HOME/shunt/token.json` or `~/.config/shunt/token.json`, one for each service.
    #[command(after_long_help = exit_codes!(0 1 2 3 5))]
    Register(account::AccountArgs),
    /// Log in: get a token and keep it.
    ///
    /// The password is asked for, or read from standard input where that is no terminal. The token is kept in
    /// `$XDG_CONFIG_HOME/shunt/token.json` or `~/.config/shunt/token.json`, one for each service.
    #[command(after_long_help = exit_codes!(0 1 2 3 5))]
    Login(account::AccountArgs),
    /// Create a short link and print it.
    #[command(after_long_help = exit_codes!(0 1 2 3 5))]
    Shorten(link::ShortenArgs),
    /// List your links, newest first.
    #[command(after_long_help = exit_codes!(0 1 2 3 5))]
    List(list::ListArgs),
    /// Show where a link leads and how often it was followed; no login needed.
    #[command(after_long_help = exit_codes!(0 1 2 4 5))]
    Stats(link::StatsArgs),
    /// Delete links, one after the other, up to the first that cannot be deleted.
    #[command(after_long_help = exit_codes!(0 1 2 3 4 5))]
    Rm(link::RmArgs),
}

/// Does what was asked for.
pub(super) fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Register(args) => account::register(args),
        Command::Login(args) => account::log_in(args),
        Command::Shorten(args) => link::shorten(args),
        Command::List(args) => list::list(args),
        Command::Stats(args) => link::stats(args),
        Command::Rm(args) => link::remove(args),
    }
}
