//! Clicks of a link on their way.

use crate::domain::{LinkId, UserId};

/// Clicks of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkClicks {
    /// The link.
    pub link: LinkId,
    /// The account that made it, which never changes, whoever owns it.
    pub owner: UserId,
    /// How many there are.
    pub clicks: u64,
}

impl LinkClicks {
    /// Without the owner.
    #[must_use]
    pub fn of_link(&self) -> (LinkId, u64) {
        (self.link, self.clicks)
    }

    /// The clicks of all of these links. Clicks by aliases are among the clicks of their links.
    #[must_use]
    pub fn total(clicks: &[Self]) -> u64 {
        let of_links = clicks.iter().filter(|row| row.owner != UserId::NOBODY);
        of_links.map(|of_link| of_link.clicks).sum()
    }
}
