//! The bin of an owner: links that were deleted, and may come back.

use std::collections::HashMap;
use std::time::Duration;

use super::edit::EVENT_BYTES;
use super::{CountedLink, LinkError, LinkService};
use crate::clicks::counts::AsOf;
use crate::domain::{Click, LinkId, Principal, ShortCode, Timestamp};
use crate::limits::Daily;
use crate::store::{Position, Restored, ToCount, TrashedLink};

const DAY: Duration = Duration::from_hours(24);

/// Links that were deleted before this moment have ended, if they can be restored for so many days.
#[must_use]
pub fn trash_ends_before(now: Timestamp, trash_days: u32) -> Timestamp {
    now.before(DAY * trash_days)
}

/// Links in a bin, the last deleted first.
pub struct TrashPage {
    links: Vec<TrashedLink>,
    clicks: HashMap<LinkId, u64>,
    trash_days: u32,
    read_at: Timestamp,
    /// How new the clicks are: as [`AsOf`] says.
    pub as_of: Option<Timestamp>,
    /// The position of the next page, if there may be a next page.
    pub next: Option<Position>,
}

/// A link in a bin.
#[derive(Clone, Debug)]
pub struct Trashed {
    /// The link, as it will be if it is restored.
    pub counted: CountedLink,
    /// When it was deleted.
    pub deleted_at: Timestamp,
    /// When it ends.
    pub ends_at: Timestamp,
}

impl TrashPage {
    /// When the page was read.
    #[must_use]
    pub fn read_at(&self) -> Timestamp {
        self.read_at
    }

    /// Whether the bin had no link here.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Each link that has not ended meanwhile.
    pub fn links(&self) -> impl Iterator<Item = Trashed> {
        self.links.iter().filter_map(|trashed| {
            let clicks = *self.clicks.get(&trashed.link.id)?;
            Some(Trashed {
                counted: CountedLink {
                    link: trashed.link.clone(),
                    clicks,
                    as_of: self.as_of,
                },
                deleted_at: trashed.at,
                ends_at: trashed.at.after(DAY * self.trash_days),
            })
        })
    }
}

impl LinkService {
    /// Up to `limit` links in the bin of this owner, from just after `after`.
    ///
    /// # Errors
    /// [`LinkError::Count`], [`LinkError::Store`].
    pub async fn trash(
        &self,
        owner: Principal,
        after: Option<Position>,
        limit: u32,
    ) -> Result<TrashPage, LinkError> {
        let read_at = self.clock.now();
        let counting = self.counts.begin();
        let ends_before = trash_ends_before(read_at, self.trash_days);
        let found = self.store.trashed_links(owner, after, ends_before, limit);
        let ToCount {
            value: links,
            has_parked,
        } = found.await?;
        let click_of = |trashed: &TrashedLink| {
            let link = &trashed.link;
            Click::new(link.id, link.made_by, self.cache.shard_of(&link.code))
        };
        let to_count: Vec<_> = links.iter().map(click_of).collect();
        let AsOf { value, as_of } = counting.of_or_written(&to_count, has_parked).await?;
        let last = links.last().filter(|_| links.len() >= limit as usize);
        Ok(TrashPage {
            next: last.map(|last| Position::at(last.at, last.link.id)),
            links,
            clicks: value,
            trash_days: self.trash_days,
            read_at,
            as_of,
        })
    }

    /// Brings a link back from the bin of this owner, with its clicks, and announces the change: it is followed again by all of its
    /// codes. `None` if there is no such link in the bin. The client at `address` may do so as often as it may change links.
    ///
    /// # Errors
    /// [`LinkError::QuotaReached`], [`LinkError::TooMany`], [`LinkError::Count`], [`LinkError::Store`].
    pub async fn restore(
        &self,
        owner: Principal,
        code: &ShortCode,
        address: &str,
    ) -> Result<Option<CountedLink>, LinkError> {
        self.add_changed_bytes(address, EVENT_BYTES).await?;
        let max_links = self.limits.get().links_per_account;
        let ends_before = trash_ends_before(self.clock.now(), self.trash_days);
        let restoring = self.store.restore_link(owner, code, ends_before, max_links);
        let restored = restoring.await;
        if !matches!(restored, Ok(Restored::Done(..))) {
            self.limiter
                .refund_today(Daily::LinkBytes, address, EVENT_BYTES);
        }
        match restored? {
            Restored::NotFound => Ok(None),
            Restored::QuotaReached => Err(LinkError::quota_reached(max_links)),
            Restored::Done(own_code, changes) => {
                self.announce_all(&changes).await;
                self.show(owner, &own_code).await
            }
        }
    }

    /// Whether a link in the bin of this owner has this code: a new link that takes the code ends that link.
    ///
    /// # Errors
    /// [`LinkError::Store`].
    pub async fn is_in_bin(&self, owner: Principal, code: &ShortCode) -> Result<bool, LinkError> {
        Ok(self.store.is_in_bin(owner, code).await?)
    }

    /// Ends a link in the bin of this owner: nothing brings it back. `false` if there is no such link in the bin.
    ///
    /// # Errors
    /// [`LinkError::Store`].
    pub async fn end_trashed(&self, owner: Principal, code: &ShortCode) -> Result<bool, LinkError> {
        Ok(self.store.end_trashed_link(owner, code).await?)
    }
}
