//! Showing one link to its owner.

use super::{LinkError, LinkService};
use crate::clicks::counts::AsOf;
use crate::domain::{Link, LinkStatus, Principal, ShortCode, Timestamp};
use crate::store::ToCount;

/// A link and its clicks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedLink {
    /// The link.
    pub link: Link,
    /// Number of answered redirects.
    pub clicks: u64,
    /// As [`AsOf`] says.
    pub as_of: Option<Timestamp>,
}

impl CountedLink {
    /// Whether it redirects at this moment, or why not.
    #[must_use]
    pub fn status(&self, now: Timestamp) -> LinkStatus {
        self.link.status(self.clicks, now)
    }
}

impl LinkService {
    /// A link of this owner; `None` if there is no such link.
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
        }) = self.store.link_of(owner, code).await?
        else {
            return Ok(None);
        };
        let click = self.click_of(link.id, link.made_by, &link.code);
        let AsOf { value, as_of } = counting.of_or_written(&[click], has_parked).await?;
        // A link that was deleted meanwhile has no clicks.
        let clicks = value.get(&link.id).copied();
        Ok(clicks.map(|clicks| CountedLink {
            link,
            clicks,
            as_of,
        }))
    }

    /// The exact clicks of a link of this owner; `None` if there is no such link.
    ///
    /// # Errors
    /// [`LinkError::Count`], [`LinkError::Store`].
    pub(super) async fn exact_clicks(
        &self,
        owner: Principal,
        code: &ShortCode,
    ) -> Result<Option<u64>, LinkError> {
        let counting = self.counts.begin();
        let Some(found) = self.store.link_of(owner, code).await? else {
            return Ok(None);
        };
        let link = found.value.id;
        let click = self.click_of(link, found.value.made_by, &found.value.code);
        let counted = counting.of(&[click], found.has_parked).await?;
        Ok(counted.get(&link).copied())
    }
}
