//! `shunt show`, and the text that it shares with `shunt edit`.

use std::fmt::Display;
use std::io::{self, Write};

use clap::Args;
use shunt::wire::FullLinkBody;

use super::output::{HANDLE, HEAD, harmless};
use super::{Api, Call, Failure, ServiceArgs, output};

/// The link to show.
#[derive(Args)]
pub(in crate::cli) struct ShowArgs {
    /// A short code or a short link.
    code: String,
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

/// Prints everything about one of the user's links.
pub(super) fn show(args: ShowArgs) -> Result<(), Failure> {
    let json = args.service.json;
    let api = Api::new(args.service)?;
    let code = api.code(&args.code)?;
    let token = api.token()?;
    let read = api.read(Call::get(&format!("/urls/{code}")).token(&token));
    print(
        &read.map_err(|setback| setback.failure.not_found(&code))?,
        json,
    )
}

/// Prints a link: its fields one below the other, absent ones left out, or as JSON.
pub(super) fn print(link: &FullLinkBody, json: bool) -> Result<(), Failure> {
    if json {
        return output::json_line(link);
    }
    print_text(&mut output::stdout(), link)?;
    Ok(())
}

fn print_text(out: &mut impl Write, link: &FullLinkBody) -> io::Result<()> {
    let short_url = harmless(&link.short_url);
    line(
        out,
        "short URL",
        &format_args!("{HANDLE}{short_url}{HANDLE:#}"),
    )?;
    line(out, "target", &harmless(&link.target_url))?;
    if let Some(title) = &link.title {
        line(out, "title", &harmless(title))?;
    }
    if !link.tags.is_empty() {
        line(out, "tags", &harmless(&link.tags.join(", ")))?;
    }
    match link.max_clicks {
        Some(most) => line(out, "clicks", &format_args!("{} of {most}", link.clicks))?,
        None => line(out, "clicks", &link.clicks)?,
    }
    line(out, "status", &harmless(&link.status.replace('_', " ")))?;
    line(out, "created", &harmless(&link.created_at))?;
    if link.updated_at != link.created_at {
        line(out, "changed", &harmless(&link.updated_at))?;
    }
    if let Some(end) = &link.expires_at {
        line(out, "expires", &harmless(end))?;
    }
    if link.forward_query {
        line(out, "query", &"a visit's query is added to the target")?;
    }
    Ok(())
}

fn line(out: &mut impl Write, name: &str, value: &dyn Display) -> io::Result<()> {
    writeln!(out, "{HEAD}{name:9}{HEAD:#}  {value}")
}
