//! The hosts beside the service's own, as this process knows them.

use tokio::sync::Mutex;

use crate::domain::CurrentHosts;

/// The hosts in force, and who reads them anew.
#[derive(Default)]
pub struct KnownHosts {
    /// The hosts, as of the last reading.
    pub current: CurrentHosts,
    /// A reading that began earlier does not end later.
    pub(super) reading: Mutex<()>,
}
