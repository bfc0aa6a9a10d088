//! Clicks of links with their owners.

use shunt::domain::{LinkId, UserId};
use shunt::store::LinkClicks;

/// The clicks of links of one owner.
pub(crate) fn of_owner(
    owner: UserId,
    clicks: impl IntoIterator<Item = (LinkId, u64)>,
) -> Vec<LinkClicks> {
    let of_link = |(link, clicks)| LinkClicks {
        link,
        owner,
        clicks,
    };
    clicks.into_iter().map(of_link).collect()
}

/// The clicks of links, each of which has an owner of its own: where it does not matter who owns them.
pub(crate) fn of_links(clicks: impl IntoIterator<Item = (LinkId, u64)>) -> Vec<LinkClicks> {
    let of_link = |(link, clicks)| LinkClicks {
        link,
        owner: owner_of(link),
        clicks,
    };
    clicks.into_iter().map(of_link).collect()
}

/// The owner in [`of_links`].
pub(crate) fn owner_of(link: LinkId) -> UserId {
    UserId(link.number() + 100)
}
