//! `shunt shorten`, `shunt stats` and `shunt rm`.

use std::collections::HashSet;
use std::io::Write;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::api::Link;
use super::output::{self, HANDLE, HEAD, harmless};
use super::{Api, Failure, ServiceArgs};

/// The target to shorten.
#[derive(Args)]
pub(in crate::cli) struct ShortenArgs {
    /// Where the link is to lead: an http:// or https:// address.
    #[arg(value_name = "URL")]
    target: String,
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

/// The link whose statistics are printed.
#[derive(Args)]
pub(in crate::cli) struct StatsArgs {
    /// A short code or a short link.
    code: String,
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

/// The links to delete.
#[derive(Args)]
pub(in crate::cli) struct RmArgs {
    /// Short codes or short links.
    #[arg(required = true, value_name = "CODE")]
    codes: Vec<String>,
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

/// A link, with the short URL that people share.
#[derive(Serialize)]
pub(super) struct Shown {
    short_url: String,
    #[serde(flatten)]
    link: Link,
}

#[derive(Serialize, Deserialize)]
struct Stats {
    short_code: String,
    target_url: String,
    clicks: u64,
    total: u64,
}

impl Shown {
    /// A link of this service.
    pub(super) fn new(api: &Api, link: Link) -> Self {
        let short_url = api.service().short_url(&link.short_code);
        Self { short_url, link }
    }
}

/// Creates a link and prints nothing but its short URL, so that it can be piped on.
pub(super) fn shorten(args: ShortenArgs) -> Result<(), Failure> {
    let api = Api::new(args.service.url)?;
    let query = [("target_url", args.target.as_str())];
    let link: Link = api.post_as(&api.token()?, "/urls/shorten", &query)?;
    let shown = Shown::new(&api, link);
    if args.service.json {
        return output::json_line(&shown);
    }
    writeln!(output::stdout(), "{}", harmless(&shown.short_url))?;
    Ok(())
}

/// Prints the statistics of a link.
pub(super) fn stats(args: StatsArgs) -> Result<(), Failure> {
    let api = Api::new(args.service.url)?;
    let code = api.service().code(&args.code)?;
    let stats: Stats = api
        .get(&format!("/urls/{code}/stats"))
        .map_err(|failure| about(code.as_str(), failure))?;
    if args.service.json {
        return output::json_line(&stats);
    }
    let mut out = output::stdout();
    let (code, target) = (harmless(&stats.short_code), harmless(&stats.target_url));
    writeln!(out, "{HEAD}code  {HEAD:#}  {HANDLE}{code}{HANDLE:#}")?;
    writeln!(out, "{HEAD}target{HEAD:#}  {target}")?;
    writeln!(out, "{HEAD}clicks{HEAD:#}  {}", stats.clicks)?;
    Ok(())
}

/// Deletes links, one after the other, up to the first that cannot be deleted.
pub(super) fn remove(args: RmArgs) -> Result<(), Failure> {
    let api = Api::new(args.service.url)?;
    // All are read before one is deleted: a typing error deletes nothing.
    let codes = args.codes.iter().map(|given| api.service().code(given));
    let mut codes = codes.collect::<Result<Vec<_>, _>>()?;
    // One that is given twice is deleted once.
    let mut seen = HashSet::new();
    codes.retain(|code| seen.insert(code.clone()));
    let token = api.token()?;
    let mut printed = Ok(());
    for code in codes {
        api.delete(&token, &format!("/urls/{code}"))
            .map_err(|failure| about(code.as_str(), failure))?;
        // A closed output does not stop the deletions.
        let line = if args.service.json {
            output::json_line(&json!({ "short_code": code.as_str(), "deleted": true }))
        } else {
            writeln!(output::stdout(), "deleted {HANDLE}{code}{HANDLE:#}").map_err(Failure::from)
        };
        printed = printed.and(line);
    }
    printed
}

/// Names the link that was not found: the command line may name several. The API has two wordings for this one case.
fn about(code: &str, failure: Failure) -> Failure {
    match failure {
        Failure::NotFound(_) => Failure::NotFound(format!("{code}: URL not found")),
        other => other,
    }
}
