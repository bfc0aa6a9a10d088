//! `shunt rm`

use std::collections::HashSet;
use std::io::Write;

use clap::Args;
use serde_json::json;

use super::named_link::NamedLink;
use super::output::HANDLE;
use super::several::Several;
use super::{Api, Call, Failure, ServiceArgs, output};

/// The links to delete.
#[derive(Args)]
pub(in crate::cli) struct RmArgs {
    /// Short codes or short links.
    #[arg(required = true, value_name = "CODE")]
    codes: Vec<String>,
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

/// Deletes links, one after the other; a link that cannot be deleted does not stop the others.
pub(super) fn remove(args: RmArgs) -> Result<(), Failure> {
    let json = args.service.json;
    let api = Api::new(args.service)?;
    // All codes are read before a link is deleted: a typing error deletes nothing.
    let codes = args.codes.iter().map(|given| api.code(given));
    let mut codes = codes.collect::<Result<Vec<_>, _>>()?;
    // One that is given twice is deleted once.
    let mut seen = HashSet::new();
    codes.retain(|code| seen.insert(code.clone()));
    let token = api.token()?;
    let mut several = Several::new(codes.len() == 1, json);
    for code in codes {
        let path = code.path("");
        let deleted = api.carry_out(Call::delete(&path).token(&token));
        let deleted = deleted.map_err(|setback| setback.failure.not_found(&code));
        several.note(&code.to_string(), deleted.map(|()| print(&code, json)))?;
    }
    several.end()
}

fn print(code: &NamedLink, json: bool) -> Result<(), Failure> {
    if json {
        return output::json_line(&json!({ "short_code": code.code().as_str(), "deleted": true }));
    }
    writeln!(output::stdout(), "deleted {HANDLE}{code}{HANDLE:#}")?;
    Ok(())
}
