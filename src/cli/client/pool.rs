//! `shunt pool`: targets of which each visitor of a link gets the next one.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::output::HANDLE;
use super::{Api, Call, Failure, ServiceArgs, output};
use crate::cli::failure::exit_codes;

/// The largest list that the service takes: longer input is not read.
const MAX_BYTES: u64 = 32 << 20;

/// What to do with a pool.
#[derive(Subcommand)]
pub(in crate::cli) enum Command {
    /// Add targets to the pool of a link: from then on each visitor gets the next one.
    ///
    /// Known bots get none of them: they are sent to the link's fallback, or get 404 without it, as everybody does once the pool is
    /// empty.
    #[command(after_long_help = exit_codes!(0 1 2 3 4 5))]
    Add(AddArgs),
    /// Show how many targets a pool has left.
    #[command(after_long_help = exit_codes!(0 1 2 3 4 5))]
    Show(PoolArgs),
    /// Empty a pool: no visitor gets one of its targets any more.
    #[command(after_long_help = exit_codes!(0 1 2 3 4 5))]
    Empty(EmptyArgs),
}

/// The link and its new targets.
#[derive(Args)]
pub(in crate::cli) struct AddArgs {
    /// A short code, or a short link, also at another host of the service.
    code: String,
    /// A file with a target in each line; `-` reads standard input.
    file: PathBuf,
    #[command(flatten)]
    service: ServiceArgs,
}

/// A link.
#[derive(Args)]
pub(in crate::cli) struct PoolArgs {
    /// A short code, or a short link, also at another host of the service.
    code: String,
    #[command(flatten)]
    service: ServiceArgs,
}

/// The link whose pool is emptied.
#[derive(Args)]
pub(in crate::cli) struct EmptyArgs {
    /// A short code, or a short link, also at another host of the service.
    code: String,
    /// The link leads to its own target again.
    #[arg(long)]
    end: bool,
    #[command(flatten)]
    service: ServiceArgs,
}

/// How many targets a pool has.
#[derive(Serialize, Deserialize)]
struct Pool {
    left: u64,
    given: u64,
}

/// Does what was asked for.
pub(super) fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Add(args) => add(args),
        Command::Show(args) => show(args),
        Command::Empty(args) => empty(args),
    }
}

fn add(args: AddArgs) -> Result<(), Failure> {
    let json = args.service.json;
    let targets = read(&args.file)?;
    let api = Api::new(args.service)?;
    let code = api.code(&args.code)?;
    let token = api.token()?;
    let path = code.path("/pool");
    let added = api.read(Call::post(&path).token(&token).text(targets));
    let pool: Pool = added.map_err(|setback| setback.failure.not_found(&code))?;
    print(&pool, json)
}

fn show(args: PoolArgs) -> Result<(), Failure> {
    let json = args.service.json;
    let api = Api::new(args.service)?;
    let code = api.code(&args.code)?;
    let token = api.token()?;
    let path = code.path("/pool");
    let read = api.read(Call::get(&path).token(&token));
    let pool: Pool = read.map_err(|setback| setback.failure.not_found(&code))?;
    print(&pool, json)
}

fn empty(args: EmptyArgs) -> Result<(), Failure> {
    let json = args.service.json;
    let api = Api::new(args.service)?;
    let code = api.code(&args.code)?;
    let token = api.token()?;
    let path = code.path("/pool");
    let query: &[_] = if args.end { &[("end", "true")] } else { &[] };
    let emptied = api.carry_out(Call::delete(&path).query(query).token(&token));
    emptied.map_err(|setback| setback.failure.not_found(&code))?;
    if json {
        return output::json_line(&json!({ "short_code": code.code().as_str(), "emptied": true }));
    }
    writeln!(output::stdout(), "emptied {HANDLE}{code}{HANDLE:#}")?;
    Ok(())
}

fn print(pool: &Pool, json: bool) -> Result<(), Failure> {
    if json {
        return output::json_line(pool);
    }
    writeln!(
        output::stdout(),
        "{HANDLE}{}{HANDLE:#} left, {} given",
        pool.left,
        pool.given
    )?;
    Ok(())
}

/// The text of a file or of standard input.
fn read(path: &Path) -> Result<String, Failure> {
    let input: Box<dyn Read> = if path.as_os_str() == "-" {
        Box::new(io::stdin())
    } else {
        Box::new(fs::File::open(path).map_err(|error| unreadable(path, &error))?)
    };
    let mut text = String::new();
    let read = input.take(MAX_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| unreadable(path, &error))?;
    if text.len() as u64 > MAX_BYTES {
        let why = format!("{} has more than 32 MiB", path.display());
        return Err(Failure::Failed(why));
    }
    Ok(text)
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let why = shunt::domain::io_reason(error);
    Failure::Failed(format!("{} cannot be read: {why}", path.display()))
}
