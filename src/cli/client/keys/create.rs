//! `shunt keys create`

use std::io::Write;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use shunt::domain::Timestamp;

use super::scope::Scope;
use super::{Api, Call, Failure, ServiceArgs, fields, output};

/// The key to create.
#[derive(Args)]
pub(in crate::cli) struct CreateArgs {
    /// Your name for it.
    name: String,
    /// What it may do.
    #[arg(long, value_enum, default_value_t = Scope::Read)]
    scope: Scope,
    /// When it expires: a time such as 2027-01-31T18:00:00Z, or a span from now on such as 30d or 12h. By default it never expires.
    #[arg(long, value_name = "TIME", alias = "expires", alias = "expires-at", value_parser = fields::end)]
    expiry: Option<Timestamp>,
    #[command(flatten)]
    service: ServiceArgs,
}

/// A key that was made, with its text.
#[derive(Serialize, Deserialize)]
struct NewKey {
    id: i64,
    name: String,
    scope: Scope,
    created_at: String,
    expires_at: Option<String>,
    key: String,
}

/// Makes a key and prints nothing but that, so that it can be piped on.
pub(super) fn create(args: CreateArgs) -> Result<(), Failure> {
    let json = args.service.json;
    let api = Api::new(args.service)?;
    let token = api.token()?;
    let mut body = Map::new();
    body.insert("name".into(), args.name.into());
    body.insert("scope".into(), args.scope.name().into());
    if let Some(end) = args.expiry {
        body.insert("expires_at".into(), end.to_string().into());
    }
    let call = Call::post("/auth/keys").token(&token);
    let made: NewKey = api.read(call.json(&Value::Object(body)))?;
    if json {
        return output::json_line(&made);
    }
    writeln!(output::stdout(), "{}", output::harmless(&made.key))?;
    let scope = made.scope.name();
    output::note(&format!(
        "key {} ({scope}) is shown only once; save it where its program reads it",
        made.id
    ));
    Ok(())
}
