//! `shunt keys delete`

use std::collections::HashSet;
use std::io::Write;

use clap::Args;
use serde_json::json;

use crate::cli::number::number;

use super::{Api, Call, Failure, ServiceArgs, Several, output};

/// The keys to delete.
#[derive(Args)]
pub(in crate::cli) struct DeleteArgs {
    /// Numbers of keys, as `shunt keys list` shows them.
    #[arg(required = true, value_name = "ID", value_parser = number(1..=i64::MAX))]
    ids: Vec<i64>,
    #[command(flatten)]
    service: ServiceArgs,
}

/// Deletes keys, one after the other; a key that cannot be deleted does not stop the others.
pub(super) fn delete(args: DeleteArgs) -> Result<(), Failure> {
    let json = args.service.json;
    let api = Api::new(args.service)?;
    // One that is given twice is deleted once.
    let mut seen = HashSet::new();
    let mut ids = args.ids;
    ids.retain(|id| seen.insert(*id));
    let token = api.token()?;
    let mut several = Several::new(ids.len() == 1, json);
    for id in ids {
        let deleted = api.carry_out(Call::delete(&format!("/auth/keys/{id}")).token(&token));
        let deleted = deleted.map_err(|setback| match setback.failure {
            Failure::NotFound(_) => Failure::NotFound(format!("{id}: key not found")),
            other => other,
        });
        several.note(&id.to_string(), deleted.map(|()| print(id, json)))?;
    }
    several.end()
}

fn print(id: i64, json: bool) -> Result<(), Failure> {
    if json {
        return output::json_line(&json!({ "id": id, "deleted": true }));
    }
    writeln!(output::stdout(), "deleted key {id}")?;
    Ok(())
}
