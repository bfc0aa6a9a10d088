//! `shunt register` and `shunt login`.

use std::io::Write;

use clap::Args;
use serde::Deserialize;
use serde_json::json;

use super::api::{NO_KEY, is_key};
use super::token_file::TokenFile;
use super::{Api, Call, Failure, ServiceArgs, output, password};

/// What the service says of an account with two factors, once the password was right.
const OTP_NEEDED: &str = "One-time password needed";

/// The account.
#[derive(Args)]
pub(in crate::cli) struct AccountArgs {
    /// E-mail address of the account.
    email: String,
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

/// The account, or a key of it.
#[derive(Args)]
pub(in crate::cli) struct LogInArgs {
    /// E-mail address of the account.
    #[arg(required_unless_present = "key", conflicts_with = "key")]
    email: Option<String>,
    /// Keep an API key, which is asked for, or read from standard input; it is never an argument.
    #[arg(long)]
    key: bool,
    /// The code of the account's app, or a recovery code, if the account has two factors. Without it, it is asked for, or read from
    /// the next line of standard input.
    #[arg(long, value_name = "CODE", conflicts_with = "key")]
    otp: Option<String>,
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
    get_token(&args.email, None, args.service, true)
}

/// Gets a token, or a key, and keeps it.
pub(super) fn log_in(args: LogInArgs) -> Result<(), Failure> {
    match args.email {
        Some(email) => get_token(&email, args.otp, args.service, false),
        None => keep_key(args.service),
    }
}

/// Keeps a key that the service knows.
fn keep_key(service: ServiceArgs) -> Result<(), Failure> {
    #[derive(Deserialize)]
    struct Account {
        email: String,
    }
    let file = TokenFile::of_user()?;
    file.make_room()?;
    let key = password::read_key()?;
    if !is_key(&key) {
        return Err(Failure::Usage(format!("the text {NO_KEY}")));
    }
    let json = service.json;
    let api = Api::new(service)?;
    let asked = api.read(Call::get("/auth/me").token(&key));
    let Account { email } = asked.map_err(|setback| match setback.failure {
        Failure::Refused(_) => Failure::Refused(format!(
            "the key is not valid at {}: it was mistyped, or has ended",
            api.service()
        )),
        other => other,
    })?;
    let url = api.service().to_string();
    file.keep(&url, &email, &key)?;
    if json {
        return output::json_line(
            &json!({ "url": url, "email": email, "token_file": file.path() }),
        );
    }
    let account = output::harmless(&email);
    writeln!(
        output::stdout(),
        "logged in at {url} with a key of {account}"
    )?;
    Ok(())
}

fn is_otp_needed(failure: &Failure) -> bool {
    matches!(failure, Failure::Refused(detail) if detail == OTP_NEEDED)
}

fn get_token(
    email: &str,
    otp: Option<String>,
    service: ServiceArgs,
    is_new: bool,
) -> Result<(), Failure> {
    // First: a login whose token cannot be kept would be useless.
    let file = TokenFile::of_user()?;
    file.make_room()?;
    let mut body = json!({ "email": email, "password": password::read(is_new)? });
    let has_otp = otp.is_some();
    if let Some(otp) = otp {
        body["otp"] = otp.into();
    }
    let path = if is_new {
        "/auth/register"
    } else {
        "/auth/login"
    };
    let json = service.json;
    let api = Api::new(service)?;
    let response: TokenResponse = match api.read(Call::post(path).json(&body)) {
        Err(setback) if !has_otp && is_otp_needed(&setback.failure) => {
            body["otp"] = password::read_otp()?.into();
            api.read(Call::post(path).json(&body))?
        }
        response => response?,
    };
    let url = api.service().to_string();
    file.keep(&url, email, &response.access_token)?;
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
