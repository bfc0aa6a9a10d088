//! The public address of the service, for links to further pages.

use std::sync::Arc;

use crate::config::BaseUrl;
use crate::domain::ShortCode;

/// Public address of the service; cheap to clone.
#[derive(Clone)]
pub struct BaseAddress(Arc<str>);

impl BaseAddress {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// The address that people share.
    pub(super) fn short_url(&self, code: &ShortCode) -> String {
        format!("{}/{code}", self.0)
    }
}

impl From<&BaseUrl> for BaseAddress {
    fn from(base_url: &BaseUrl) -> Self {
        Self(base_url.as_str().into())
    }
}
