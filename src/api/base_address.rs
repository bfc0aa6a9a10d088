//! The public address of the service, for links to further pages.

use std::sync::Arc;

use crate::config::BaseUrl;
use crate::domain::{CurrentHosts, ShortCode};

/// Public address of the service; cheap to clone.
#[derive(Clone)]
pub struct BaseAddress {
    own: Arc<str>,
    hosts: CurrentHosts,
}

impl BaseAddress {
    /// Of a service that has these hosts, too.
    #[must_use]
    pub fn new(base_url: &BaseUrl, hosts: CurrentHosts) -> Self {
        Self {
            own: base_url.as_str().into(),
            hosts,
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.own
    }

    /// The host of a code; `None`: the service's own.
    pub(super) fn host_of(&self, code: &ShortCode) -> Option<String> {
        self.hosts.host_of(code)
    }

    /// A key of a code as people write it.
    pub(super) fn shown_key(&self, key: &str) -> String {
        self.hosts.shown_key(key)
    }

    /// The address that people share.
    pub(super) fn short_url(&self, code: &ShortCode) -> String {
        self.hosts.short_url(&self.own, code)
    }
}
