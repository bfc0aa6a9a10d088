//! Arguments of every client command: the service, and the form of the output.

use clap::Args;
use shunt::config::LOCAL_URL;

use super::service_url::ServiceUrl;

/// The service, and the form of the output.
#[derive(Args)]
pub(in crate::cli) struct ServiceArgs {
    /// Address of the service.
    #[arg(
        long,
        env = "SHUNT_URL",
        default_value = LOCAL_URL,
        value_name = "URL"
    )]
    pub(super) url: ServiceUrl,
    /// Print JSON; errors, too, on standard error.
    #[arg(long)]
    pub(super) json: bool,
}
