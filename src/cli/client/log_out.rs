//! `shunt logout`

use std::io::Write;

use clap::Args;
use serde_json::json;

use super::token_file::TokenFile;
use super::{Api, Call, Failure, ServiceArgs, output};

/// Which tokens to end.
#[derive(Args)]
pub(in crate::cli) struct LogOutArgs {
    /// Revoke all tokens of the account, on all machines. API keys stay valid.
    #[arg(long)]
    everywhere: bool,
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

/// Deletes the token on this machine. Without a token there is nothing to do, which is not an error.
pub(super) fn log_out(args: LogOutArgs) -> Result<(), Failure> {
    let json = args.service.json;
    let api = Api::new(args.service)?;
    let url = api.service().to_string();
    let file = TokenFile::of_user()?;
    if args.everywhere {
        let token = api.token()?;
        api.carry_out(Call::post("/auth/logout-everywhere").token(&token))?;
    }
    let was_logged_in = file.forget(&url)?;
    if json {
        return output::json_line(&json!({
            "url": url, "was_logged_in": was_logged_in, "everywhere": args.everywhere,
        }));
    }
    let done = match (was_logged_in, args.everywhere) {
        (false, _) => "was not logged in at",
        (true, false) => "logged out of",
        (true, true) => "logged out everywhere of",
    };
    writeln!(output::stdout(), "{done} {url}")?;
    Ok(())
}
