//! Settings for clients that exist: pages of other origins, and programs that speak the API of another shortener.

mod compat;
mod cors;

use compat::CompatSettings;
use cors::CorsSettings;

pub use compat::Compat;
pub use cors::Origin;

/// Which other clients are served.
#[derive(Clone, Debug, clap::Args)]
pub struct ClientSettings {
    /// Pages of other origins.
    #[command(flatten)]
    pub cors: CorsSettings,
    /// APIs of other shorteners.
    #[command(flatten)]
    pub compat: CompatSettings,
}
