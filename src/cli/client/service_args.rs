//! Arguments of every client command: the service, and the form of the output.

use clap::Args;
use shunt::config::LOCAL_URL;

use super::service_url::ServiceUrl;
use crate::cli::number::number;

/// The service, and the form of the output.
#[derive(Args)]
pub(in crate::cli) struct ServiceArgs {
    /// Address of the service. Without a scheme it is https, on this machine http.
    #[arg(
        long = "server",
        alias = "url",
        env = "SHUNT_URL",
        default_value = LOCAL_URL,
        value_name = "URL"
    )]
    pub(super) server: ServiceUrl,
    /// How long a response may take.
    #[arg(long, default_value_t = 30, value_name = "SECONDS", value_parser = number(1..=86_400_u64))]
    pub(super) timeout: u64,
    /// Act for this group instead of your account: a number of `shunt groups list`.
    #[arg(long, value_name = "NUMBER", value_parser = number(1..=i64::MAX))]
    pub(super) group: Option<i64>,
    /// Print JSON; errors, too, on standard error.
    #[arg(long)]
    pub(super) json: bool,
}
