//! Whether a link has a code: everybody may ask, but not for arbitrarily many codes.

use super::{LinkError, LinkService};
use crate::domain::{LinkTarget, ShortCode};
use crate::store::ToCount;

impl LinkService {
    /// Whether a link has this code, active or not, for a client at `address`.
    ///
    /// # Errors
    /// [`LinkError::TooMany`] if the client asked for too many unknown codes; [`LinkError::Store`].
    pub async fn exists(&self, code: &ShortCode, address: &str) -> Result<bool, LinkError> {
        Ok(self.public_link(code, address).await?.is_some())
    }

    /// The link with this code, for a client at `address`.
    pub(super) async fn public_link(
        &self,
        code: &ShortCode,
        address: &str,
    ) -> Result<Option<ToCount<LinkTarget>>, LinkError> {
        self.misses.check(address)?;
        // `link_target` would go before other operations, as a redirect does.
        let link = self.store.link_to_count(code).await?;
        if link.is_none() {
            self.misses.count(address);
        }
        Ok(link)
    }
}
