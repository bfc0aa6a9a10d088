//! `shunt keys`: API keys.

use clap::Subcommand;

use super::several::Several;
use super::{Api, Call, Failure, ServiceArgs, fields, output};
use crate::cli::failure::exit_codes;

mod create;
mod delete;
mod list;
mod scope;

/// What to do with keys.
#[derive(Subcommand)]
pub(in crate::cli) enum Command {
    /// List your keys, newest first.
    #[command(after_long_help = exit_codes!(0 1 2 3 5))]
    List(list::ListArgs),
    /// Create a key and print it; it is shown only once.
    ///
    /// A program sends it as `Authorization: Bearer KEY`. It is valid for links, but not for the account.
    #[command(after_long_help = exit_codes!(0 1 2 3 5))]
    Create(create::CreateArgs),
    /// Delete keys; programs that use them are refused at once.
    ///
    /// If a key cannot be deleted, the rest is deleted all the same; the exit code is that of the first failure.
    #[command(after_long_help = exit_codes!(0 1 2 3 key 5))]
    Delete(delete::DeleteArgs),
}

/// Does what was asked for.
pub(super) fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::List(args) => list::list(args),
        Command::Create(args) => create::create(args),
        Command::Delete(args) => delete::delete(args),
    }
}
