//! `shunt rm`

use std::collections::HashSet;
use std::io::Write;

use clap::Args;
use serde_json::json;

use super::api::Setback;
use super::named_link::NamedLink;
use super::output::HANDLE;
use super::several::Several;
use super::{Api, Call, Failure, ServiceArgs, output};

/// The links to delete, or to bring back.
#[derive(Args)]
pub(in crate::cli) struct RmArgs {
    /// Short codes or short links.
    #[arg(required = true, value_name = "CODE")]
    codes: Vec<String>,
    /// Bring these deleted links back, with their clicks.
    #[arg(long, conflicts_with = "for_good")]
    undo: bool,
    /// Leave nothing that `--undo` could bring back, also of links that are deleted already.
    #[arg(long)]
    for_good: bool,
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

/// Deletes links or brings them back, one after the other; a link for which that fails does not stop the others.
pub(super) fn remove(args: RmArgs) -> Result<(), Failure> {
    let json = args.service.json;
    let api = Api::new(args.service)?;
    // All codes are read before anything is done: a typing error deletes nothing.
    let codes = args.codes.iter().map(|given| api.code(given));
    let mut codes = codes.collect::<Result<Vec<_>, _>>()?;
    // One that is given twice is deleted once.
    let mut seen = HashSet::new();
    codes.retain(|code| seen.insert(code.clone()));
    let token = api.token()?;
    let mut several = Several::new(codes.len() == 1, json);
    for code in codes {
        let done = if args.undo {
            let restored = code.path("/restore");
            let restore = Call::post(&restored).token(&token);
            api.carry_out(restore).map(|()| "restored")
        } else {
            delete(&api, &token, &code, args.for_good).map(|()| "deleted")
        };
        let done = done.map_err(|setback| setback.failure.not_found(&code));
        several.note(&code.to_string(), done.map(|done| print(&code, done, json)))?;
    }
    several.end()
}

fn delete(api: &Api, token: &str, code: &NamedLink, for_good: bool) -> Result<(), Setback> {
    let delete = |path: &str| api.carry_out(Call::delete(path).token(token));
    let deleted = delete(&code.path(""));
    let is_missing = |done: &Result<(), Setback>| {
        let setback = done.as_ref().err();
        setback.is_some_and(|setback| matches!(setback.failure, Failure::NotFound(_)))
    };
    if !for_good || (deleted.is_err() && !is_missing(&deleted)) {
        return deleted;
    }
    let ended = delete(&code.path_in_bin());
    // A service without a bin has ended the link already.
    if is_missing(&ended) { deleted } else { ended }
}

fn print(code: &NamedLink, done: &'static str, json: bool) -> Result<(), Failure> {
    if json {
        return output::json_line(&json!({ "short_code": code.code().as_str(), done: true }));
    }
    writeln!(output::stdout(), "{done} {HANDLE}{code}{HANDLE:#}")?;
    Ok(())
}
