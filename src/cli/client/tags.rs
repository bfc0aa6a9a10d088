//! `shunt tags`: the tags of the account's links.

use std::io::{self, BufRead, IsTerminal, Write};
use std::thread::sleep;
use std::time::Duration;

use clap::{Args, Subcommand};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::api::{Retry, Setback};
use super::output::{HANDLE, HEAD, harmless};
use super::{Api, Call, Failure, ServiceArgs, output};
use crate::cli::failure::exit_codes;

/// Everything but what a path has as it is.
const IN_PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'~');

/// Tags that are asked for at once.
const PAGE: &str = "1000";

/// The tags, or what to do with one.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::cli) struct TagsArgs {
    #[command(subcommand)]
    command: Option<Command>,
    /// Only tags of links at this host of the service.
    #[arg(long, value_name = "HOST")]
    domain: Option<String>,
    #[command(flatten)]
    service: ServiceArgs,
}

#[derive(Subcommand)]
enum Command {
    /// Rename a tag on all links; a tag of the new name is merged with it.
    #[command(after_long_help = exit_codes!(0 1 2 3 tag 5))]
    Rename(RenameArgs),
    /// Take a tag off all links; the links stay.
    #[command(after_long_help = exit_codes!(0 1 2 3 tag 5))]
    Rm(RmArgs),
}

#[derive(Args)]
struct RenameArgs {
    /// The tag.
    #[arg(value_name = "OLD")]
    old: String,
    /// Its new name.
    #[arg(value_name = "NEW")]
    new: String,
    #[command(flatten)]
    service: ServiceArgs,
}

#[derive(Args)]
struct RmArgs {
    /// The tag.
    #[arg(value_name = "TAG")]
    tag: String,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    service: ServiceArgs,
}

/// A tag with the links that have it.
#[derive(Serialize, Deserialize)]
struct Listed {
    tag: String,
    links: u64,
    clicks: u64,
}

/// Does what was asked for.
pub(super) fn run(args: TagsArgs) -> Result<(), Failure> {
    match args.command {
        None => list(args.domain.as_deref(), args.service),
        Some(Command::Rename(args)) => rename(args),
        Some(Command::Rm(args)) => remove(args),
    }
}

fn list(domain: Option<&str>, service: ServiceArgs) -> Result<(), Failure> {
    let json = service.json;
    let api = Api::new(service)?;
    let token = api.token()?;
    let mut tags = Vec::<Listed>::new();
    let mut next = Some(String::new());
    while let Some(cursor) = next.take() {
        let mut query = vec![("limit", PAGE)];
        query.extend(domain.map(|domain| ("domain", domain)));
        query.extend(Some(("cursor", &*cursor)).filter(|_| !cursor.is_empty()));
        let call = Call::get("/urls/tags").query(&query).token(&token);
        let (page, after) = api.page::<Vec<Listed>>(call)?;
        tags.extend(page);
        next = after;
    }
    if json {
        return output::json_line(&tags);
    }
    print_table(&mut output::stdout(), &tags)?;
    Ok(())
}

fn print_table(out: &mut impl Write, tags: &[Listed]) -> io::Result<()> {
    let width = |head: &str, number: fn(&Listed) -> u64| {
        let lengths = tags.iter().map(|tag| number(tag).to_string().len());
        lengths.max().unwrap_or_default().max(head.len())
    };
    let links = width("LINKS", |tag| tag.links);
    let clicks = width("CLICKS", |tag| tag.clicks);
    let (first, second) = ("LINKS", "CLICKS");
    writeln!(out, "{HEAD}{first:>links$}  {second:>clicks$}  TAG{HEAD:#}")?;
    for tag in tags {
        let name = harmless(&tag.tag);
        writeln!(
            out,
            "{:>links$}  {:>clicks$}  {HANDLE}{name}{HANDLE:#}",
            tag.links, tag.clicks
        )?;
    }
    Ok(())
}

fn rename(args: RenameArgs) -> Result<(), Failure> {
    let json = args.service.json;
    let api = Api::new(args.service)?;
    let token = api.token()?;
    let path = path(&args.old)?;
    let body = json!({ "tag": args.new });
    let renamed = to_the_end(&args.old, || {
        api.read::<Listed>(Call::patch(&path).token(&token).json(&body))
    });
    let tag = renamed?;
    if json {
        return output::json_line(&tag);
    }
    let (old, new) = (harmless(&args.old), harmless(&tag.tag));
    let (links, s) = (tag.links, if tag.links == 1 { "" } else { "s" });
    writeln!(
        output::stdout(),
        "renamed {old} to {HANDLE}{new}{HANDLE:#}, which {links} link{s} have"
    )?;
    Ok(())
}

fn remove(args: RmArgs) -> Result<(), Failure> {
    let json = args.service.json;
    let api = Api::new(args.service)?;
    let token = api.token()?;
    let path = path(&args.tag)?;
    if !args.yes && !is_sure(&args.tag)? {
        return Err(Failure::Failed("nothing was changed".into()));
    }
    to_the_end(&args.tag, || {
        api.carry_out(Call::delete(&path).token(&token))
    })?;
    if json {
        return output::json_line(&json!({ "tag": args.tag, "deleted": true }));
    }
    let tag = harmless(&args.tag);
    writeln!(output::stdout(), "deleted {HANDLE}{tag}{HANDLE:#}")?;
    Ok(())
}

/// The path of a tag. Addresses cannot have a part that is only one or two dots.
fn path(tag: &str) -> Result<String, Failure> {
    let tag = tag.trim();
    if ["", ".", ".."].contains(&tag) {
        let why = "the tag must not be empty, nor one or two dots, which no address has";
        return Err(Failure::Usage(why.into()));
    }
    Ok(format!("/urls/tags/{}", utf8_percent_encode(tag, IN_PATH)))
}

/// Whether the person says yes. A program says so by `--yes`.
fn is_sure(tag: &str) -> Result<bool, Failure> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        let why = "the tag is taken off all links that have it; say so with --yes";
        return Err(Failure::Usage(why.into()));
    }
    let asked = format!("Take {} off all links that have it? [y/N] ", harmless(tag));
    let mut terminal = io::stderr();
    write!(terminal, "{asked}")?;
    terminal.flush()?;
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer)?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

/// Sends a request, and again as long as the service says that other links still have the tag.
fn to_the_end<T>(tag: &str, send: impl Fn() -> Result<T, Setback>) -> Result<T, Failure> {
    loop {
        let setback = match send() {
            Ok(done) => return Ok(done),
            Err(setback) => setback,
        };
        match (setback.failure, setback.retry) {
            (Failure::NotFound(_), _) => {
                return Err(Failure::NotFound(format!("{tag}: no link has this tag")));
            }
            (Failure::Unavailable(why), Retry::Soon(after)) if why.contains(IS_UNFINISHED) => {
                let links = why.split(',').next().unwrap_or_default();
                output::note(links);
                sleep(after.unwrap_or(Duration::from_secs(1)));
            }
            (failure, _) => return Err(failure),
        }
    }
}

/// What the service says where one request did not change all links.
const IS_UNFINISHED: &str = "others still have the tag";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_names_are_harmless() {
        let tag = |tag: &str, links, clicks| Listed {
            tag: tag.into(),
            links,
            clicks,
        };
        let tags = [tag("print\u{1b}", 120, 5), tag("été", 7, 1_234_567)];
        let mut table = Vec::new();
        print_table(&mut table, &tags).unwrap();
        let plain = anstream::adapter::strip_bytes(&table).into_vec();
        let expected = "LINKS   CLICKS  TAG\n  120        5  print\\u{1b}\n    7  1234567  été\n";
        assert_eq!(String::from_utf8_lossy(&plain), expected);
    }

    #[test]
    fn any_tag_is_one_part_of_a_path() {
        assert!(
            matches!(path("a/b?c #é."), Ok(path) if path == "/urls/tags/a%2Fb%3Fc%20%23%C3%A9%2E")
        );
        assert!(path("..").is_err() && path(" ").is_err());
    }
}
