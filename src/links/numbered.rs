//! Links of a list by their number in it, and how many there are: for clients that know pages by number only.

use std::collections::HashMap;

use super::list::LONG;
use super::{LinkError, LinkService, Listing, Page};
use crate::clicks::counts::AsOf;
use crate::domain::{Click, Link, LinkFilter, LinkId, LinkOrder, Principal};
use crate::limits::Full;
use crate::store::{LinkSearch, OwnerTotals, Position};

/// Links that are looked at in one step.
const STEP: u32 = 5_000;

/// Links that are looked at for one page: with a text to look for, and without.
const MAX_SEARCHED: u32 = 10_000;
const MAX_LISTED: u32 = 200_000;

/// Links that may stand before a page in an order by clicks.
pub const MAX_NUMBERED_BY_CLICKS: u64 = 10_000;

/// A part of a list, and how long the list is.
pub struct NumberedPage {
    /// Its links.
    pub page: Page,
    /// How many links the list has, as far as it was looked through.
    pub total: u64,
}

impl LinkService {
    /// Up to `limit` links of a listing, from the one with the number `skip` on. What is looked through is bounded: 200,000 links, or the
    /// first 10,000 with a text to look for.
    ///
    /// # Errors
    /// [`LinkError::TooMany`] if many searches of the account wait; [`LinkError::Count`], [`LinkError::Store`].
    pub async fn numbered(
        &self,
        owner: Principal,
        listing: &Listing,
        skip: u64,
        limit: u32,
    ) -> Result<NumberedPage, LinkError> {
        let turn = self.searches.turn(owner.user).await?;
        let all = self.positions(owner, listing).await?;
        drop(turn);
        let total = all.len() as u64;
        if listing.order.is_by_clicks() {
            let page = self.numbered_by_clicks(owner, listing, skip, limit).await?;
            return Ok(NumberedPage { page, total });
        }
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        let wanted = all.iter().skip(skip).take(limit as usize);
        let wanted: Vec<_> = wanted.map(|position| position.id).collect();
        let page = self.these(owner, &listing.filter, &wanted).await?;
        Ok(NumberedPage { page, total })
    }

    /// Those of these links that are the owner's and still match, in this order: 1,000 at most. Many of them are read in their turn.
    ///
    /// # Errors
    /// As of [`LinkService::page`].
    pub async fn these(
        &self,
        owner: Principal,
        filter: &LinkFilter,
        wanted: &[LinkId],
    ) -> Result<Page, LinkError> {
        let turns = if wanted.len() > LONG as usize {
            let searching = self.searches.turn(owner.user).await?;
            let long_page = self.long_pages.enter(&owner.user.0.to_string()).await;
            Some((searching, long_page.map_err(|_| Full::InAll)?))
        } else {
            None
        };
        let read_at = self.clock.now();
        let counting = self.counts.begin();
        let found = self
            .store
            .links_among(owner, wanted, filter, read_at)
            .await?;
        let (links, has_parked) = (found.value, found.has_parked);
        let click_of =
            |link: &Link| Click::new(link.id, link.made_by, self.cache.shard_of(&link.code));
        let clicks: Vec<_> = links.iter().map(click_of).collect();
        let AsOf { value, as_of } = counting.of_or_written(&clicks, has_parked).await?;
        Ok(Page {
            links,
            clicks: value,
            days: HashMap::new(),
            wanted: filter.status,
            read_at,
            as_of,
            next: None,
            ends: None,
            _turns: turns,
        })
    }

    /// How many links an owner has, and their clicks that are written back, about a second after they were answered.
    ///
    /// # Errors
    /// [`LinkError::Store`].
    pub async fn totals(&self, owner: Principal) -> Result<OwnerTotals, LinkError> {
        Ok(self.store.totals_of(owner).await?)
    }

    /// The positions of all links of a listing by moments.
    async fn positions(
        &self,
        owner: Principal,
        listing: &Listing,
    ) -> Result<Vec<Position>, LinkError> {
        let filter = &listing.filter;
        let order = match listing.order {
            LinkOrder::Oldest => LinkOrder::Oldest,
            _ => LinkOrder::Newest,
        };
        let (step, max) = match filter.text {
            Some(_) => (1_000, MAX_SEARCHED),
            None => (STEP, MAX_LISTED),
        };
        let mut positions = Vec::new();
        let (mut after, mut scanned) = (None, 0);
        loop {
            let search = LinkSearch {
                filter,
                order,
                after,
                limit: step,
                now: self.clock.now(),
            };
            let found = self.store.scan_links(owner, &search).await?;
            positions.extend(found.matches);
            scanned += step;
            after = found.next;
            if after.is_none() || scanned >= max {
                return Ok(positions);
            }
        }
    }

    async fn numbered_by_clicks(
        &self,
        owner: Principal,
        listing: &Listing,
        skip: u64,
        limit: u32,
    ) -> Result<Page, LinkError> {
        let mut left = skip.min(MAX_NUMBERED_BY_CLICKS);
        let mut after = None;
        while left > 0 {
            let size = u32::try_from(left.min(1_000)).unwrap_or(1_000);
            let page = self.page(owner, listing, after, size).await?;
            left = left.saturating_sub(page.links().count() as u64);
            after = page.next;
            if after.is_none() {
                return self.these(owner, &listing.filter, &[]).await;
            }
        }
        self.page(owner, listing, after, limit).await
    }
}
