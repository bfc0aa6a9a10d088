//! Reading a link's statistics.

use super::{LinkError, LinkService};
use crate::domain::{Click, RemovalStatus, ShortCode, TargetUrl, Timestamp};
use crate::store::ToCount;

/// A link's statistics at one moment.
#[derive(Debug)]
pub struct LinkStats {
    /// How the link is answered, where it is removed.
    pub removed: Option<RemovalStatus>,
    /// Where the link leads; `None`: it is removed, and that is not shown.
    pub target: Option<TargetUrl>,
    /// Whether its owner switched it off, or its time is over.
    pub has_ended: bool,
    /// Exact number of answered redirects.
    pub clicks: u64,
}

impl LinkService {
    /// The statistics of the link with this code, active or not, for a client at `address`; `None` where there is none.
    ///
    /// # Errors
    /// [`LinkError::TooMany`] where the client asked for too many codes that no link has; [`LinkError::Count`] where an exact number cannot be read, [`LinkError::Store`].
    pub async fn stats(
        &self,
        code: &ShortCode,
        address: &str,
    ) -> Result<Option<LinkStats>, LinkError> {
        let counting = self.counts.begin();
        let Some(ToCount {
            value: link,
            has_parked,
        }) = self.public_link(code, address).await?
        else {
            return Ok(None);
        };
        let click = Click::new(link.id, self.cache.shard_of(code));
        let now = self.clock.now();
        let counts = counting.of(&[click], has_parked).await?;
        Ok(counts.get(&link.id).map(|clicks| LinkStats {
            removed: link.removed,
            has_ended: !link.is_active || link.expires_at.is_some_and(|end| end <= now),
            target: link.removed.is_none().then_some(link.target),
            clicks: *clicks,
        }))
    }

    /// When the link with this code was made, for somebody who has seen its statistics.
    ///
    /// # Errors
    /// [`LinkError::Store`].
    pub async fn made_at(&self, code: &ShortCode) -> Result<Option<Timestamp>, LinkError> {
        Ok(self.links.link_made_at(code).await?)
    }
}
