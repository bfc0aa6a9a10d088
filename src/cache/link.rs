//! A link as the cache keeps it.

use crate::domain::{Click, Clock, LinkId, LinkTarget, Location, Shard, Timestamp};

/// The part of a link that a redirect needs, ready to be sent. With the counters of its `Arc` it takes one line of the
/// processor's cache.
#[derive(Debug, PartialEq, Eq)]
pub struct CachedLink {
    /// Its clicks are counted under this number.
    pub id: LinkId,
    /// Where it leads.
    pub location: Location,
    /// The moment from which it is not followed any more.
    pub end: LinkEnd,
    /// The data set of its clicks.
    pub shard: Shard,
    /// An inactive link is not followed.
    pub is_active: bool,
    /// Whether the database grants each of its clicks.
    pub is_limited: bool,
    /// Whether a visitor's query is added to the location.
    pub forward_query: bool,
}

/// The moment from which a link is not followed any more: microseconds since 1970, or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkEnd(i64);

impl LinkEnd {
    /// No end.
    pub const NEVER: Self = Self(i64::MAX);

    pub(super) fn at(end: Option<Timestamp>) -> Self {
        end.map_or(Self::NEVER, |end| Self(end.micros()))
    }

    pub(super) fn moment(self) -> Option<Timestamp> {
        (self != Self::NEVER).then(|| Timestamp::from_micros(self.0))?
    }

    /// Whether it has come. The clock is read for links that have an end alone.
    #[must_use]
    pub fn has_come(self, clock: &dyn Clock) -> bool {
        self != Self::NEVER && self.0 <= clock.now().micros()
    }
}

impl CachedLink {
    pub(super) fn new(link: &LinkTarget, shard: Shard) -> Self {
        Self {
            id: link.id,
            location: link.target.location(),
            end: LinkEnd::at(link.expires_at),
            shard,
            is_active: link.is_active,
            is_limited: link.is_limited,
            forward_query: link.forward_query,
        }
    }

    /// A click of this link.
    #[must_use]
    pub fn click(&self) -> Click {
        Click::new(self.id, self.shard)
    }
}
