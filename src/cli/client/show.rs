//! `shunt show`, and the text that it shares with `shunt edit`.

use clap::Args;
use shunt::wire::FullLinkBody;

use super::{Api, Call, Failure, ServiceArgs, fields, output};

/// The link to show.
#[derive(Args)]
pub(in crate::cli) struct ShowArgs {
    /// A short code, or a short link, also at another host of the service.
    code: String,
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

/// Prints everything about one of the user's links.
pub(super) fn show(args: ShowArgs) -> Result<(), Failure> {
    let json = args.service.json;
    let api = Api::new(args.service)?;
    let code = api.code(&args.code)?;
    let token = api.token()?;
    let read = api.read(Call::get(&code.path("")).token(&token));
    print(
        &read.map_err(|setback| setback.failure.not_found(&code))?,
        json,
    )
}

/// Prints a link: its fields one below the other, absent ones left out, or as JSON.
pub(super) fn print(link: &FullLinkBody, json: bool) -> Result<(), Failure> {
    if json {
        return output::json_line(link);
    }
    fields::write(link, &mut output::stdout())?;
    Ok(())
}
