//! Arguments of every client command: the service, and the form of the output.

use clap::Args;

use super::service_url::ServiceUrl;

/// The service, and the form of the output.
#[derive(Args)]
pub(in crate::cli) struct ServiceArgs {
    /// Address of the service.
    #[arg(
        long,
        env = "SHUNT_URL",
        default_value = "http://127.0.0.1:8000",
        value_name = "URL"
    )]
    pub(super) url: ServiceUrl,
    /// Print JSON; errors, too, on standard error.
    #[arg(long)]
    pub(super) json: bool,
}
