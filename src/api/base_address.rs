//! The public address of the service, for links to further pages.

use std::sync::Arc;

use crate::config::BaseUrl;

/// Public address of the service; cheap to clone.
#[derive(Clone)]
pub struct BaseAddress(Arc<str>);

impl BaseAddress {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&BaseUrl> for BaseAddress {
    fn from(base_url: &BaseUrl) -> Self {
        Self(base_url.as_str().into())
    }
}
