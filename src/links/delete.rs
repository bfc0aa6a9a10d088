//! Deleting a link.

use super::{LinkError, LinkService};
use crate::domain::{Principal, ShortCode};

impl LinkService {
    /// Deletes a link of this owner and announces the change. `false` where there is no such link, or it is another's.
    ///
    /// # Errors
    /// [`LinkError::Store`].
    pub async fn delete(&self, owner: Principal, code: &ShortCode) -> Result<bool, LinkError> {
        let Some(change) = self.links.delete_link(owner, code).await? else {
            return Ok(false);
        };
        self.announce(&change).await;
        Ok(true)
    }
}
