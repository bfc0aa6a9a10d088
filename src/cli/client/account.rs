//! `shunt register` and `shunt login`.

use std::io::Write;

use clap::Args;
use serde::Deserialize;
use serde_json::json;

use super::token_file::TokenFile;
use super::{Api, Call, Failure, ServiceArgs, output, password};

/// The account.
#[derive(Args)]
pub(in crate::cli) struct AccountArgs {
    /// E-mail address of the account.
    email: String,
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

/// The response with a token.
#[derive(Deserialize)]
pub(super) struct TokenResponse {
    pub(super) access_token: String,
}

/// Creates an account and logs in.
pub(super) fn register(args: AccountArgs) -> Result<(), Failure> {
    get_token(args, true)
}

/// Gets a token and keeps it.
pub(super) fn log_in(args: AccountArgs) -> Result<(), Failure> {
    get_token(args, false)
}

fn get_token(args: AccountArgs, is_new: bool) -> Result<(), Failure> {
    // First: a login whose token cannot be kept would be useless.
    let file = TokenFile::of_user()?;
    file.make_room()?;
    let AccountArgs { email, service } = args;
    let body = json!({ "email": email, "password": password::read(is_new)? });
    let path = if is_new {
        "/auth/register"
    } else {
        "/auth/login"
    };
    let json = service.json;
    let api = Api::new(service)?;
    let response: TokenResponse = api.read(Call::post(path).json(&body))?;
    let url = api.service().to_string();
    file.keep(&url, &email, &response.access_token)?;
    if json {
        return output::json_line(
            &json!({ "url": url, "email": email, "token_file": file.path() }),
        );
    }
    let done = if is_new {
        "registered and logged in"
    } else {
        "logged in"
    };
    writeln!(output::stdout(), "{done} at {url} as {email}")?;
    Ok(())
}
