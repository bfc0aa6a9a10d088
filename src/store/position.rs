//! Places in lists of links.

use crate::domain::{Link, LinkId, Timestamp};

/// A place in a sorted list of links: just after one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// What the list is sorted by: `created_at` in microseconds, or clicks.
    pub key: i64,
    /// The link's `id`.
    pub id: LinkId,
}

impl Position {
    /// Before every link, newest first: the last moment there is.
    pub(super) fn newest() -> Self {
        Self {
            key: Timestamp::MAX.micros(),
            id: LinkId::LAST,
        }
    }

    /// Just after a link in a list by moments.
    #[must_use]
    pub fn of(link: &Link) -> Self {
        Self {
            key: link.created_at.micros(),
            id: link.id,
        }
    }
}
