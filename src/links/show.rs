//! Showing one link to its owner.

use super::{LinkError, LinkService};
use crate::domain::{Click, Link, LinkStatus, Principal, ShortCode, Timestamp};
use crate::store::ToCount;

/// A link and its exact clicks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedLink {
    /// The link.
    pub link: Link,
    /// Exact number of answered redirects.
    pub clicks: u64,
}

impl CountedLink {
    /// Whether it redirects at this moment, or why not.
    #[must_use]
    pub fn status(&self, now: Timestamp) -> LinkStatus {
        self.link.status(self.clicks, now)
    }
}

impl LinkService {
    /// A link of this owner; `None` where there is none.
    ///
    /// # Errors
    /// [`LinkError::Count`], [`LinkError::Store`].
    pub async fn show(
        &self,
        owner: Principal,
        code: &ShortCode,
    ) -> Result<Option<CountedLink>, LinkError> {
        let counting = self.counts.begin();
        let Some(ToCount {
            value: link,
            has_parked,
        }) = self.links.link_of(owner, code).await?
        else {
            return Ok(None);
        };
        let click = Click::new(link.id, self.cache.shard_of(code));
        let clicks = counting.of(&[click], has_parked).await?;
        // A link that was deleted meanwhile has no clicks.
        let clicks = clicks.get(&link.id).copied();
        Ok(clicks.map(|clicks| CountedLink { link, clicks }))
    }
}
