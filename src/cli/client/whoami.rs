//! `shunt whoami`

use std::io::Write;

use clap::Args;
use serde::Deserialize;
use serde_json::json;

use super::output::harmless;
use super::{Api, Call, Failure, ServiceArgs, output};

/// The service whose account is shown.
#[derive(Args)]
pub(in crate::cli) struct WhoamiArgs {
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

#[derive(Deserialize)]
struct Account {
    id: i64,
    email: String,
}

/// Prints the account, as the service knows it: a token that is kept may have ended.
pub(super) fn whoami(args: WhoamiArgs) -> Result<(), Failure> {
    let json = args.service.json;
    let api = Api::new(args.service)?;
    let token = api.token()?;
    let Account { id, email } = api.read(Call::get("/auth/me").token(&token))?;
    let url = api.service().to_string();
    if json {
        return output::json_line(&json!({ "url": url, "id": id, "email": email }));
    }
    writeln!(output::stdout(), "{} at {url}", harmless(&email))?;
    Ok(())
}
