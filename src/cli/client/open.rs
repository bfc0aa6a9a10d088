//! `shunt open`

use clap::Args;
use url::Url;

use super::{Api, Failure, ServiceArgs, output};

/// The link to open.
#[derive(Args)]
pub(in crate::cli) struct OpenArgs {
    /// A short code, or a short link, also at another host of the service.
    code: String,
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

/// Opens a short URL in the browser.
pub(super) fn open(args: OpenArgs) -> Result<(), Failure> {
    let api = Api::new(args.service)?;
    let code = api.code(&args.code)?;
    let short_url = api.short_url(&code);
    let short_url = short_url.map_err(|failure| failure.not_found(&code))?;
    // A program that opens anything opens nothing but web pages here, whatever the service says.
    let is_page = Url::parse(&short_url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    if !is_page {
        let shown = output::harmless(&short_url);
        return Err(Failure::Failed(format!(
            "{shown} is not the address of a page"
        )));
    }
    ::open::that_detached(&short_url).map_err(|_| {
        Failure::Failed(format!(
            "no browser can be started; open {short_url} yourself"
        ))
    })
}
