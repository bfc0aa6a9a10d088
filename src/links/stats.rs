//! Reading a link's statistics.

use super::{LinkError, LinkService};
use crate::domain::{Click, ShortCode, TargetUrl, Timestamp};
use crate::store::ToCount;

/// A link's statistics at one moment.
#[derive(Debug)]
pub struct LinkStats {
    /// Where the link leads.
    pub target: TargetUrl,
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
        let counts = counting.of(&[click], has_parked).await?;
        Ok(counts.get(&link.id).map(|clicks| LinkStats {
            target: link.target,
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
