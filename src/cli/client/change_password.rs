//! `shunt password`

use std::io::Write;

use clap::Args;
use serde_json::json;

use super::account::TokenResponse;
use super::token_file::TokenFile;
use super::{Api, Call, Failure, ServiceArgs, output, password};

/// The service whose password is changed.
#[derive(Args)]
pub(in crate::cli) struct PasswordArgs {
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

/// Changes the password, which ends all tokens, and keeps the new token.
pub(super) fn change_password(args: PasswordArgs) -> Result<(), Failure> {
    // First: a token that cannot be kept would mean another login.
    let file = TokenFile::of_user()?;
    file.make_room()?;
    let json = args.service.json;
    let api = Api::new(args.service)?;
    let login = api.login()?;
    let (old, new) = password::read_change()?;
    let body = json!({ "old_password": old, "new_password": new });
    let call = Call::post("/auth/password").token(&login.access_token);
    let response: TokenResponse = api.read(call.json(&body))?;
    let (url, email) = (api.service().to_string(), login.email);
    file.keep(&url, &email, &response.access_token)?;
    if json {
        return output::json_line(&json!({ "url": url, "email": email, "changed": true }));
    }
    writeln!(
        output::stdout(),
        "password of {email} at {url} changed; all other log-ins are revoked"
    )?;
    Ok(())
}
