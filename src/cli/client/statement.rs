//! `shunt statement` and `shunt verify`

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use shunt::domain::{Month, StatementPublicKey, io_reason};
use shunt::statements::{Verified, keys_in, verify};

use super::output::{ASIDE, HANDLE, harmless};
use super::output_file::is_dash;
use super::several::Several;
use super::{Api, Call, Failure, ServiceArgs, output};

/// The statement to print.
#[derive(Args)]
pub(in crate::cli) struct StatementArgs {
    /// A short code, or a short link, also at another host of the service.
    code: String,
    /// A month that has ended, such as 2026-10.
    #[arg(long)]
    month: String,
    /// The time zone in which days begin, such as Europe/Berlin.
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    tz: String,
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

/// The statements to check.
#[derive(Args)]
pub(in crate::cli) struct VerifyArgs {
    /// Statements of a service, as `shunt statement` prints them; `-` is standard input. Of months that follow each other it is also
    /// checked that each names the statement before it.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The keys of the service, saved from its address /.well-known/shunt-keys.json. [default: shunt-keys.json beside the first file]
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Print JSON; errors, too, on standard error.
    #[arg(long)]
    json: bool,
}

/// More bytes than any statement or key set has.
const MAX_BYTES: u64 = 1024 * 1024;

/// The name of the file with the keys.
const KEYS: &str = "shunt-keys.json";

/// Prints a statement as the service signed it: a file of it has the same digest.
pub(super) fn statement(args: StatementArgs) -> Result<(), Failure> {
    let api = Api::new(args.service)?;
    let code = api.code(&args.code)?;
    let token = api.token()?;
    let path = code.path("/statement");
    let query = [("month", args.month.as_str()), ("tz", &args.tz)];
    let body = api.stream(Call::get(&path).query(&query).token(&token));
    let body = body.map_err(|failure| failure.not_found(&code))?;
    let mut document = Vec::new();
    let read = body.take(MAX_BYTES).read_to_end(&mut document);
    read.map_err(|error| Failure::Unavailable(format!("the statement broke off: {error}")))?;
    let mut out = io::stdout().lock();
    out.write_all(&document)?;
    if out.is_terminal() {
        writeln!(out)?;
    }
    Ok(())
}

/// Checks statements without the service; one that is refused does not stop the others.
pub(super) fn check(args: &VerifyArgs) -> Result<(), Failure> {
    let keys = match &args.keys {
        Some(path) => keys_of(path)?,
        None => keys_beside(&args.files)?,
    };
    let mut several = Several::new(args.files.len() == 1, args.json);
    let mut verified = Vec::new();
    for path in &args.files {
        let name = shown(path);
        let checked = read(path).and_then(|document| {
            let found = verify(&document, &keys);
            let found = found.map_err(|why| Failure::of(&harmless(&why.to_string())))?;
            follows(&found, &verified).map_err(|why| Failure::of(&why))?;
            Ok(found)
        });
        let checked = match checked {
            Err(failure) if args.files.len() == 1 => Err(failure.about(&name)),
            checked => checked,
        };
        let printed = checked.map(|found| {
            let printed = print(&name, &found, args.json);
            verified.push(found);
            printed
        });
        several.note(&name, printed)?;
    }
    several.end()
}

/// Whether a statement names the digest of that of the month before, where it is among these, and that of the month after names its own.
fn follows(found: &Verified, others: &[Verified]) -> Result<(), &'static str> {
    let is_next = |one: &Verified, other: &Verified| {
        let (one, other) = (&one.statement, &other.statement);
        let month = Month::parse(&one.month).map(|month| month.next().to_string());
        month.is_ok_and(|next| next == other.month)
            && (&one.short_code, &one.domain, &one.tz)
                == (&other.short_code, &other.domain, &other.tz)
    };
    let is_named =
        |one: &Verified, other: &Verified| other.statement.previous.as_ref() == Some(&one.digest);
    for other in others {
        if is_next(other, found) && !is_named(other, found) {
            return Err(
                "it does not name the statement of the month before, which is among the files",
            );
        }
        if is_next(found, other) && !is_named(found, other) {
            return Err(
                "the statement of the next month, which is among the files, does not name it",
            );
        }
    }
    Ok(())
}

fn print(name: &str, found: &Verified, json: bool) -> Result<(), Failure> {
    let statement = &found.statement;
    if json {
        return output::json_line(&json!({
            "file": name,
            "short_code": statement.short_code,
            "domain": statement.domain,
            "month": statement.month,
            "tz": statement.tz,
            "clicks": statement.clicks,
            "people": statement.people,
            "key_id": statement.key_id,
            "digest": found.digest,
        }));
    }
    let code = match &statement.domain {
        Some(domain) => format!("{domain}/{}", statement.short_code),
        None => statement.short_code.clone(),
    };
    let people = statement.people;
    let people = people.map_or_else(String::new, |people| {
        format!(", {people} of them by people")
    });
    let (month, zone) = (harmless(&statement.month), harmless(&statement.tz));
    writeln!(
        output::stdout(),
        "{name}: {HANDLE}{}{HANDLE:#}, {month} ({zone}): {} clicks{people}\n{ASIDE}  signed by {}, {}{ASIDE:#}",
        harmless(&code),
        statement.clicks,
        harmless(&statement.key_id),
        found.digest,
    )?;
    Ok(())
}

fn keys_of(path: &Path) -> Result<Vec<StatementPublicKey>, Failure> {
    let keys = read(path).map(|set| keys_in(&set).filter(|keys| !keys.is_empty()));
    let keys = keys.and_then(|keys| {
        keys.ok_or_else(|| {
            Failure::Failed("there are no keys of statements in it; save the address /.well-known/shunt-keys.json of the service".into())
        })
    });
    keys.map_err(|failure| failure.about(&path.to_string_lossy()))
}

/// The keys in the folder of the first file.
fn keys_beside(files: &[PathBuf]) -> Result<Vec<StatementPublicKey>, Failure> {
    let folder = files.first().and_then(|file| file.parent());
    let path = folder.unwrap_or(Path::new("")).join(KEYS);
    if !path.exists() {
        return Err(Failure::Usage(format!(
            "{} is missing; save the address /.well-known/shunt-keys.json of the service there, or name a copy with --keys",
            shown(&path)
        )));
    }
    keys_of(&path)
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = if is_dash(path) {
        io::stdin().take(MAX_BYTES).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes))
    };
    match read {
        Ok(_) => Ok(bytes),
        Err(error) => Err(Failure::of(&io_reason(&error))),
    }
}

fn shown(path: &Path) -> String {
    harmless(&path.to_string_lossy()).into_owned()
}
