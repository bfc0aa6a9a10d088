//! Whether a code is that of a link.

use super::{LinkError, LinkService};
use crate::domain::ShortCode;

impl LinkService {
    /// Whether a link has this code, active or not.
    ///
    /// # Errors
    /// [`LinkError::Store`].
    pub async fn exists(&self, code: &ShortCode) -> Result<bool, LinkError> {
        // `link_target` would go before other operations, as a redirect does.
        Ok(self.links.link_to_count(code).await?.is_some())
    }
}
