//! Listing an owner's links, page by page.

use std::collections::HashMap;

use super::{LinkError, LinkService, ListStream};
use crate::domain::{Click, Link, LinkId, Principal};
use crate::limits::TooMany;
use crate::store::Position;

/// Links of one owner, newest first, and their clicks. A link that was deleted meanwhile has no clicks.
#[derive(Debug, Default)]
pub struct Page {
    links: Vec<Link>,
    clicks: HashMap<LinkId, u64>,
    /// Where the next page begins, where there is one.
    pub next: Option<Position>,
}

impl Page {
    /// Whether the database had no link here; links that were deleted meanwhile count as links.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Each link with its exact clicks, without those that were deleted meanwhile.
    pub fn links(&self) -> impl Iterator<Item = (&Link, u64)> {
        self.links
            .iter()
            .filter_map(|link| Some((link, *self.clicks.get(&link.id)?)))
    }
}

impl LinkService {
    /// Up to `limit` links of an owner from just after `after`, newest first.
    ///
    /// # Errors
    /// [`LinkError::Count`], [`LinkError::Store`].
    pub async fn page(
        &self,
        owner: Principal,
        after: Option<Position>,
        limit: u32,
    ) -> Result<Page, LinkError> {
        let counting = self.counts.begin();
        // One more than asked for shows whether there is another page.
        let read = self.links.links_of(owner, after, limit + 1).await?;
        let (mut links, has_parked) = (read.value, read.has_parked);
        let has_next = links.len() > limit as usize;
        links.truncate(limit as usize);
        let click_of = |link: &Link| Click::new(link.id, self.cache.shard_of(&link.code));
        let to_count: Vec<_> = links.iter().map(click_of).collect();
        let clicks = counting.of(&to_count, has_parked).await?;
        Ok(Page {
            next: links.last().filter(|_| has_next).map(Position::of),
            links,
            clicks,
        })
    }

    /// Reserves the sending of a whole list, until the returned value is dropped.
    ///
    /// # Errors
    /// [`TooMany`] where the owner, or the client's address, is being sent as many as one may be.
    pub fn begin_list(&self, owner: Principal, address: &str) -> Result<ListStream, TooMany> {
        self.list_streams.begin(owner.user, address)
    }
}
