//! The client commands: accounts and links from a terminal.

use clap::Subcommand;

use super::failure::{Failure, exit_codes};
use super::output;

mod account;
mod api;
mod change_password;
mod edit;
mod events;
mod export;
mod fields;
mod groups;
mod import;
mod keys;
mod list;
mod log_out;
mod mcp;
mod named_link;
mod open;
mod output_file;
mod password;
mod pool;
mod qr;
mod rm;
mod service_args;
mod service_url;
mod several;
mod shorten;
mod show;
mod statement;
mod stats;
mod tags;
mod target;
mod token_file;
mod whoami;

use api::{Api, Call};
use service_args::ServiceArgs;

/// What a client can ask for.
#[derive(Subcommand)]
pub(super) enum Command {
    /// Create an account and log in.
    ///
    /// The password is asked for, or read from standard input if that is not a terminal. The token is kept in
    /// `$XDG_CONFIG_HOME/shunt/token.json` or `~/.config/shunt/token.json`, one for each service.
    #[command(after_long_help = exit_codes!(0 1 2 3 5))]
    Register(account::AccountArgs),
    /// Log in: get a token and keep it.
    ///
    /// The password is asked for, or read from standard input if that is not a terminal. The token is kept in
    /// `$XDG_CONFIG_HOME/shunt/token.json` or `~/.config/shunt/token.json`, one for each service. With `--key` an API key is
    /// asked for, or read, and kept instead. Scripts may give a key in `SHUNT_KEY`, which wins over what is kept.
    #[command(after_long_help = exit_codes!(0 1 2 3 5))]
    Login(account::LogInArgs),
    /// Log out: delete the token on this machine.
    ///
    /// The token itself stays valid until it expires; with `--everywhere`, all tokens of the account are revoked at once.
    #[command(after_long_help = exit_codes!(0 1 2 3 5))]
    Logout(log_out::LogOutArgs),
    /// Show the account that you are logged in to.
    #[command(after_long_help = exit_codes!(0 1 2 3 5))]
    Whoami(whoami::WhoamiArgs),
    /// Change your password.
    ///
    /// The old and the new password are asked for, or read from the first two lines of standard input if that is not a
    /// terminal. All other log-ins of the account end; this log-in gets a new token.
    #[command(after_long_help = exit_codes!(0 1 2 3 5))]
    Password(change_password::PasswordArgs),
    /// Create, list and delete API keys.
    #[command(subcommand, after_long_help = exit_codes!(0 1 2 3 key 5))]
    Keys(keys::Command),
    /// List groups, create them, have members in them, and move links there.
    ///
    /// Commands on links, tags and keys act for a group with `--group`.
    #[command(subcommand, after_long_help = exit_codes!(0 1 2 3 group 5))]
    Groups(groups::Command),
    /// Create short links and print them.
    ///
    /// If a target cannot be shortened, the rest is shortened all the same; the exit code is that of the first failure.
    #[command(after_long_help = exit_codes!(0 1 2 3 5))]
    Shorten(shorten::ShortenArgs),
    /// List your links, newest first.
    #[command(after_long_help = exit_codes!(0 1 2 3 5))]
    List(list::ListArgs),
    /// Show everything about one of your links.
    #[command(after_long_help = exit_codes!(0 1 2 3 4 5))]
    Show(show::ShowArgs),
    /// Change one of your links; fields that are not named stay as they are.
    #[command(after_long_help = exit_codes!(0 1 2 3 4 5))]
    Edit(edit::EditArgs),
    /// Show where a link leads and how often it was followed; no login needed.
    #[command(after_long_help = exit_codes!(0 1 2 4 5))]
    Stats(stats::StatsArgs),
    /// Print what happened to your links, or wait for it: one JSON object a line.
    ///
    /// At each event, the sum of the clicks of a link is the number of its clicks that were counted by then; `--verify` compares the two.
    #[command(after_long_help = exit_codes!(0 1 2 3 5))]
    Events(events::EventsArgs),
    /// Print the signed statement of one of your links, of a month that has ended.
    ///
    /// Save it with the keys of the service, from its address /.well-known/shunt-keys.json: `shunt verify` then checks it without the
    /// service.
    #[command(after_long_help = exit_codes!(0 1 2 3 4 5))]
    Statement(statement::StatementArgs),
    /// Check statements without the service and without a network.
    #[command(after_long_help = exit_codes!(0 verify 2))]
    Verify(statement::VerifyArgs),
    /// Draw the QR code of a link, or write it to a file; no login needed.
    #[command(after_long_help = exit_codes!(0 1 2 4 5))]
    Qr(qr::QrArgs),
    /// Open a link in the browser; no login needed.
    #[command(after_long_help = exit_codes!(0 1 2 4 5))]
    Open(open::OpenArgs),
    /// Write all your links to a file.
    #[command(after_long_help = exit_codes!(0 1 2 3 5))]
    Export(export::ExportArgs),
    /// Import the links of another service, or of a table.
    ///
    /// Codes are kept if they are valid here, and clicks that the other service counted become the links' starting counts.
    /// Creation dates are not kept. If an import is interrupted, even by a crash, the same command continues it;
    /// `FILE.shunt-import.json` records the progress. Importing a finished file again creates no link twice. Refused links
    /// are listed in `FILE.refused.csv`; correct that file and import it with `--from shunt`.
    #[command(after_long_help = exit_codes!(0 1 2 3 5))]
    Import(import::ImportArgs),
    /// Give each visitor of a link a target of its own: for coupons, seats, survey links.
    #[command(subcommand, after_long_help = exit_codes!(0 1 2 3 4 5))]
    Pool(pool::Command),
    /// List your tags, rename them, or take them off all links.
    #[command(after_long_help = exit_codes!(0 1 2 3 tag 5))]
    Tags(tags::TagsArgs),
    /// Let a program use your links, by the Model Context Protocol.
    ///
    /// It can create, find, show and change links and read their statistics, with your login or the key in `SHUNT_KEY`. A client
    /// of the protocol starts this command by itself.
    #[command(after_long_help = exit_codes!(0 1 2 3 5))]
    Mcp(mcp::McpArgs),
    /// Delete links, or bring deleted links back.
    ///
    /// The service keeps deleted links for some days (`shunt list --deleted`). If a link cannot be deleted, the rest is deleted all the same; the exit code is that of the first failure.
    #[command(after_long_help = exit_codes!(0 1 2 3 4 5))]
    Rm(rm::RmArgs),
}

/// Does what was asked for.
pub(super) fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Register(args) => account::register(args),
        Command::Login(args) => account::log_in(args),
        Command::Logout(args) => log_out::log_out(args),
        Command::Whoami(args) => whoami::whoami(args),
        Command::Password(args) => change_password::change_password(args),
        Command::Keys(command) => keys::run(command),
        Command::Groups(command) => groups::run(command),
        Command::Shorten(args) => shorten::shorten(args),
        Command::List(args) => list::list(args),
        Command::Show(args) => show::show(args),
        Command::Edit(args) => edit::edit(args),
        Command::Stats(args) => stats::stats(args),
        Command::Events(args) => events::events(args),
        Command::Statement(args) => statement::statement(args),
        Command::Verify(args) => statement::check(&args),
        Command::Qr(args) => qr::qr(args),
        Command::Open(args) => open::open(args),
        Command::Export(args) => export::export(args),
        Command::Import(args) => import::import(args),
        Command::Pool(command) => pool::run(command),
        Command::Tags(args) => tags::run(args),
        Command::Mcp(args) => mcp::serve(args),
        Command::Rm(args) => rm::remove(args),
    }
}
