//! Reading a link's statistics.

use super::{LinkError, LinkService};
use crate::domain::{Click, ShortCode, TargetUrl};
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
    /// The statistics of the link with this code, active or not; `None` where there is none.
    ///
    /// # Errors
    /// [`LinkError::Count`] where an exact number cannot be read, [`LinkError::Store`].
    pub async fn stats(&self, code: &ShortCode) -> Result<Option<LinkStats>, LinkError> {
        let counting = self.counts.begin();
        let Some(ToCount {
            value: link,
            has_parked,
        }) = self.links.link_to_count(code).await?
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
}
