//! A link as the cache keeps it.

use crate::domain::{Click, LinkId, LinkTarget, Location, Shard};

/// The part of a link that a redirect needs, ready to be sent.
#[derive(Debug, PartialEq, Eq)]
pub struct CachedLink {
    /// Its clicks are counted under this number.
    pub id: LinkId,
    /// The data set of its clicks.
    pub shard: Shard,
    /// Where it leads.
    pub location: Location,
    /// An inactive link is not followed.
    pub is_active: bool,
}

impl CachedLink {
    pub(super) fn new(link: &LinkTarget, shard: Shard) -> Self {
        Self {
            id: link.id,
            shard,
            location: link.target.location(),
            is_active: link.is_active,
        }
    }

    /// A click of this link.
    #[must_use]
    pub fn click(&self) -> Click {
        Click::new(self.id, self.shard)
    }
}
