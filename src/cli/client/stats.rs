//! `shunt stats`

use std::io::Write;

use clap::Args;
use serde::{Deserialize, Serialize};

use super::output::{HANDLE, HEAD, harmless};
use super::{Api, Call, Failure, ServiceArgs, output};

/// The link whose statistics are printed.
#[derive(Args)]
pub(in crate::cli) struct StatsArgs {
    /// A short code or a short link.
    code: String,
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

#[derive(Serialize, Deserialize)]
struct Stats {
    short_code: String,
    target_url: String,
    clicks: u64,
    total: u64,
}

/// Prints the statistics of a link.
pub(super) fn stats(args: StatsArgs) -> Result<(), Failure> {
    let json = args.service.json;
    let api = Api::new(args.service)?;
    let code = api.code(&args.code)?;
    let read = api.read::<Stats>(Call::get(&format!("/urls/{code}/stats")));
    let stats = read.map_err(|setback| setback.failure.not_found(&code))?;
    if json {
        return output::json_line(&stats);
    }
    let mut out = output::stdout();
    let (code, target) = (harmless(&stats.short_code), harmless(&stats.target_url));
    writeln!(out, "{HEAD}code  {HEAD:#}  {HANDLE}{code}{HANDLE:#}")?;
    writeln!(out, "{HEAD}target{HEAD:#}  {target}")?;
    writeln!(out, "{HEAD}clicks{HEAD:#}  {}", stats.clicks)?;
    Ok(())
}
