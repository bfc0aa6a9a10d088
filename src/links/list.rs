//! Listing an owner's links, page by page.

use std::collections::HashMap;

use super::{LinkError, LinkService};
use crate::clicks::counts::AsOf;
use crate::domain::{
    Click, Interval, Link, LinkFilter, LinkGroup, LinkId, LinkOrder, LinkStatus, Principal,
    StatusFilter, Timestamp,
};
use crate::limits::{Full, Permit, Turn, WaitingRoom};
use crate::store::{FoundLinks, LastDays, LinkSearch, Position, StatusCounts, Steps, ToCount};

/// Links of a page that is read in its turn.
pub(super) const LONG: u32 = 100;

/// Long pages that are read at once: the memory of each may be some megabytes, and many wait for the database with theirs.
const LONG_PAGES: usize = 4;

/// Requests that wait for their turn to read a long page.
const MAX_WAITING: usize = 1_024;

/// Which links of an owner are listed, and in which order; without anything, all of them, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Which links.
    pub filter: LinkFilter,
    /// In which order.
    pub order: LinkOrder,
}

/// Links of one owner and their clicks, in the order of the listing. A link that was deleted in between has no clicks.
pub struct Page {
    pub(super) links: Vec<Link>,
    pub(super) clicks: HashMap<LinkId, u64>,
    /// Their clicks by day, if those were asked for.
    pub(super) days: HashMap<LinkId, Vec<u64>>,
    pub(super) wanted: Option<StatusFilter>,
    pub(super) read_at: Timestamp,
    /// How new the clicks are: as [`AsOf`] says.
    pub as_of: Option<Timestamp>,
    /// The position of the next page, if there may be a next page.
    pub next: Option<Position>,
    /// The positions of the first and the last link that was found.
    pub ends: Option<(Position, Position)>,
    /// Of a long page: the account's next one begins when this one is written out.
    pub(super) _turns: Option<(Turn, Permit)>,
}

/// A link of a page.
#[derive(Clone, Copy, Debug)]
pub struct ListedLink<'a> {
    /// The link.
    pub link: &'a Link,
    /// Number of answered redirects.
    pub clicks: u64,
    /// Its status at the time of the reading.
    pub status: LinkStatus,
    /// Its clicks on each of the last days, if those were asked for.
    pub days: &'a [u64],
}

impl Page {
    /// Whether the database had no link here; links that were deleted meanwhile count as links.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Each link with its clicks, without those that were deleted meanwhile, and those whose clicks give them another status
    /// than the wanted one.
    pub fn links(&self) -> impl Iterator<Item = ListedLink<'_>> {
        self.links.iter().filter_map(|link| {
            let clicks = *self.clicks.get(&link.id)?;
            let status = link.status(clicks, self.read_at);
            let is_wanted = self.wanted.is_none_or(|wanted| wanted.has(status));
            is_wanted.then_some(ListedLink {
                link,
                clicks,
                status,
                days: self.days.get(&link.id).map_or(&[], Vec::as_slice),
            })
        })
    }

    /// The same links from the other end.
    #[must_use]
    pub fn reversed(self) -> Self {
        let mut links = self.links;
        links.reverse();
        let ends = self.ends.map(|(first, last)| (last, first));
        Self {
            links,
            ends,
            ..self
        }
    }
}

/// Where requests for long pages wait; owners have their turns one after the other.
#[must_use]
pub fn turns_of_long_pages() -> WaitingRoom {
    WaitingRoom::new(LONG_PAGES, MAX_WAITING)
}

impl LinkService {
    /// Up to `limit` links of a listing, from just after `after`. A page of a search may have fewer although others follow:
    /// the work for each is bounded.
    ///
    /// # Errors
    /// [`LinkError::Count`], [`LinkError::Store`]; of a search or a long page [`LinkError::TooMany`], if many others of the account
    /// wait.
    pub async fn page(
        &self,
        owner: Principal,
        listing: &Listing,
        after: Option<Position>,
        limit: u32,
    ) -> Result<Page, LinkError> {
        self.page_with(owner, listing, after, limit, None).await
    }

    /// The same with the clicks of each link on the last days, each of 24 hours.
    ///
    /// # Errors
    /// As [`LinkService::page`].
    pub async fn page_with_days(
        &self,
        owner: Principal,
        listing: &Listing,
        after: Option<Position>,
        limit: u32,
        days: u16,
    ) -> Result<Page, LinkError> {
        let days = LastDays::until(Interval::of(self.clock.now()), days);
        self.page_with(owner, listing, after, limit, Some(days))
            .await
    }

    /// How many links of a group have which status.
    ///
    /// # Errors
    /// [`LinkError::Store`].
    pub async fn status_counts(
        &self,
        owner: Principal,
        group: &LinkGroup,
    ) -> Result<StatusCounts, LinkError> {
        let now = self.clock.now();
        Ok(self.store.status_counts(owner, group, now).await?)
    }

    async fn page_with(
        &self,
        owner: Principal,
        listing: &Listing,
        after: Option<Position>,
        limit: u32,
        days: Option<LastDays>,
    ) -> Result<Page, LinkError> {
        let is_plain = listing.filter.is_open() && listing.order == LinkOrder::Newest;
        // The turn that the account waits for comes first: while it waits, it keeps no other account from a long page.
        let has_text = listing.filter.text.is_some();
        let is_dear = has_text || listing.order.is_by_clicks() || limit > LONG;
        let mut searching = None;
        if is_dear {
            searching = Some(self.searches.turn(owner.user).await?);
        }
        let long_page = if limit > LONG {
            let turn = self.long_pages.enter(&owner.user.0.to_string()).await;
            Some(turn.map_err(|_| Full::InAll)?)
        } else {
            None
        };
        let read_at = self.clock.now();
        let counting = self.counts.begin();
        let search = LinkSearch {
            filter: &listing.filter,
            order: listing.order,
            after,
            limit,
            now: read_at,
        };
        let found = if is_plain {
            self.newest(owner, after, limit).await?
        } else if listing.order.is_by_clicks() {
            self.by_clicks(owner, &search).await?
        } else {
            self.by_moment(owner, &search, &mut searching).await?
        };
        let FoundLinks { links, next, ends } = found.value;
        let turns = searching.zip(long_page);
        let click_of =
            |link: &Link| Click::new(link.id, link.made_by, self.cache.shard_of(&link.code));
        let to_count: Vec<_> = links.iter().map(click_of).collect();
        let has_parked = found.has_parked;
        let (clicks, days, as_of) = if let Some(days) = days {
            let counted = counting.days_of_or_written(&to_count, has_parked, days);
            let AsOf { value, as_of } = counted.await?;
            let clicks = value.iter().map(|(link, found)| (*link, found.count));
            let clicks = clicks.collect();
            let days = value.into_iter().map(|(link, found)| (link, found.days));
            (clicks, days.collect(), as_of)
        } else {
            let AsOf { value, as_of } = counting.of_or_written(&to_count, has_parked).await?;
            (value, HashMap::new(), as_of)
        };
        Ok(Page {
            links,
            clicks,
            days,
            wanted: listing.filter.status,
            read_at,
            as_of,
            next,
            ends,
            _turns: turns,
        })
    }

    /// Up to `limit` active links of an owner that expire, the earliest first.
    ///
    /// # Errors
    /// [`LinkError::Count`], [`LinkError::Store`].
    pub async fn ending(&self, owner: Principal, limit: u32) -> Result<Page, LinkError> {
        let read_at = self.clock.now();
        let counting = self.counts.begin();
        let read = self.store.ending_links(owner, read_at, limit).await?;
        let click_of =
            |link: &Link| Click::new(link.id, link.made_by, self.cache.shard_of(&link.code));
        let to_count: Vec<_> = read.value.iter().map(click_of).collect();
        let counted = counting.of_or_written(&to_count, read.has_parked).await?;
        Ok(Page {
            clicks: counted.value,
            links: read.value,
            days: HashMap::new(),
            wanted: Some(StatusFilter::Only(LinkStatus::Active)),
            read_at,
            as_of: counted.as_of,
            next: None,
            ends: None,
            _turns: None,
        })
    }

    /// A page by moments: its links are looked for step by step, from the second step on in the account's turn.
    async fn by_moment(
        &self,
        owner: Principal,
        search: &LinkSearch<'_>,
        searching: &mut Option<Turn>,
    ) -> Result<ToCount<FoundLinks>, LinkError> {
        let mut steps = Steps::new(search.limit, search.after);
        while let Some((after, limit)) = steps.next_step() {
            let step = LinkSearch {
                after,
                limit,
                ..*search
            };
            steps.add(self.store.scan_links(owner, &step).await?);
            // A page that is whole by now has cost what a plain one costs.
            if searching.is_none() && steps.next_step().is_some() {
                *searching = Some(self.searches.turn(owner.user).await?);
            }
        }
        self.found(owner, search, steps).await
    }

    /// The links that a search found.
    pub(super) async fn found(
        &self,
        owner: Principal,
        search: &LinkSearch<'_>,
        steps: Steps,
    ) -> Result<ToCount<FoundLinks>, LinkError> {
        let (matches, next) = steps.found();
        let ends = matches.first().copied().zip(matches.last().copied());
        let ids: Vec<_> = matches.iter().map(|position| position.id).collect();
        let found = self
            .store
            .links_among(owner, &ids, search.filter, search.now)
            .await?;
        Ok(ToCount {
            value: FoundLinks {
                links: found.value,
                next,
                ends,
            },
            has_parked: found.has_parked,
        })
    }

    async fn newest(
        &self,
        owner: Principal,
        after: Option<Position>,
        limit: u32,
    ) -> Result<ToCount<FoundLinks>, LinkError> {
        // One link more than requested shows whether there is another page.
        let read = self.store.links_of(owner, after, limit + 1).await?;
        let mut links = read.value;
        let has_next = links.len() > limit as usize;
        links.truncate(limit as usize);
        let next = links.last().filter(|_| has_next).map(Position::of);
        let ends = links.first().map(Position::of);
        let ends = ends.zip(links.last().map(Position::of));
        Ok(ToCount {
            value: FoundLinks { links, next, ends },
            has_parked: read.has_parked,
        })
    }
}
