//! Tags of an owner: listed with their totals, renamed, and taken off all links.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::edit::EVENT_BYTES;
use super::{LinkError, LinkService};
use crate::clicks::counts::AsOf;
use crate::domain::{DomainId, Principal, SearchTag};
use crate::limits::Daily;
use crate::store::{RETAGGED_IN_STEP, TagTotals, WantedTags};

/// How long one call changes links. A tag that still is on others then is changed on those by the next call.
const WORK_FOR: Duration = Duration::from_secs(10);

/// Which tags are listed.
#[derive(Clone, Debug)]
pub struct TagListing {
    /// From just after this tag, by their bytes.
    pub after: Option<SearchTag>,
    /// Only tags of links of this host, counted there.
    pub domain: Option<DomainId>,
    /// How many at most.
    pub limit: u32,
}

/// Some tags of an owner by their bytes, and the last of them if others follow.
#[derive(Clone, Debug)]
pub struct TagPage {
    /// The tags.
    pub tags: Vec<TagTotals>,
    /// Where the next page begins: just after this tag.
    pub next: Option<String>,
}

impl LinkService {
    /// The first tags of an owner, at most so many, without their totals.
    ///
    /// # Errors
    /// [`LinkError::Store`].
    pub async fn tag_names(&self, owner: Principal, limit: u32) -> Result<Vec<String>, LinkError> {
        Ok(self.store.tag_names(owner, limit).await?)
    }

    /// The tags of an owner's links, with how many links have each, and the clicks of these: by the counts of the database if exact
    /// counts cannot be read. Empty if the owner's account is gone.
    ///
    /// # Errors
    /// [`LinkError::TooMany`] if many searches of the account wait; [`LinkError::Count`], [`LinkError::Store`].
    pub async fn tags(
        &self,
        owner: Principal,
        listing: &TagListing,
    ) -> Result<AsOf<TagPage>, LinkError> {
        // One tag more than requested shows whether there is another page.
        let wanted = WantedTags {
            owner,
            only: None,
            after: listing.after.as_ref(),
            domain: listing.domain,
            limit: listing.limit + 1,
        };
        let AsOf { value, as_of } = self.wanted_tags(&wanted).await?;
        let mut tags = value;
        let limit = listing.limit as usize;
        let has_next = tags.len() > limit;
        tags.truncate(limit);
        let next = tags.last().filter(|_| has_next);
        let next = next.map(|last| last.tag.clone());
        let value = TagPage { tags, next };
        Ok(AsOf { value, as_of })
    }

    /// A tag of an owner's links with its totals; `None` if no link has it.
    ///
    /// # Errors
    /// As of [`LinkService::tags`].
    pub async fn tag(
        &self,
        owner: Principal,
        tag: &SearchTag,
    ) -> Result<Option<AsOf<TagTotals>>, LinkError> {
        let wanted = WantedTags {
            owner,
            only: Some(tag),
            after: None,
            domain: None,
            limit: 1,
        };
        let AsOf { value, as_of } = self.wanted_tags(&wanted).await?;
        let found = value.into_iter().next();
        Ok(found.map(|value| AsOf { value, as_of }))
    }

    async fn wanted_tags(
        &self,
        wanted: &WantedTags<'_>,
    ) -> Result<AsOf<Vec<TagTotals>>, LinkError> {
        let _turn = self.searches.turn(wanted.owner.user).await?;
        let counting = self.counts.begin();
        Ok(counting.tags_or_written(wanted).await?)
    }

    /// Gives a tag another name on all links of an owner, for a client at `address`; a tag of that name is merged with it. Returns
    /// its totals; `None` if no link has the tag. Links are changed in short steps: what is changed stays so if a later one fails, and
    /// the same call goes on with the others. A link that gets the old name after the last step keeps it.
    ///
    /// # Errors
    /// [`LinkError::TagLeft`] if other links still have the tag; [`LinkError::TooMany`], [`LinkError::Count`], [`LinkError::Store`].
    pub async fn rename_tag(
        &self,
        owner: Principal,
        old: &SearchTag,
        new: &SearchTag,
        address: &str,
    ) -> Result<Option<AsOf<TagTotals>>, LinkError> {
        if old == new {
            return self.tag(owner, old).await;
        }
        if !self.retag(owner, old, Some(new), address).await? {
            return Ok(None);
        }
        let renamed = self.tag(owner, new).await?;
        // All these links may be deleted meanwhile.
        Ok(Some(renamed.unwrap_or_else(|| AsOf {
            value: TagTotals {
                tag: new.as_str().to_owned(),
                links: 0,
                clicks: 0,
            },
            as_of: None,
        })))
    }

    /// Takes a tag off all links of an owner, in the same way. `false` if no link has it.
    ///
    /// # Errors
    /// As of [`LinkService::rename_tag`].
    pub async fn delete_tag(
        &self,
        owner: Principal,
        tag: &SearchTag,
        address: &str,
    ) -> Result<bool, LinkError> {
        self.retag(owner, tag, None, address).await
    }

    /// Whether a link had the old tag.
    async fn retag(
        &self,
        owner: Principal,
        old: &SearchTag,
        new: Option<&SearchTag>,
        address: &str,
    ) -> Result<bool, LinkError> {
        let (began, mut changed) = (Instant::now(), 0_u64);
        // What each link may grow by, and its event.
        let longer = new.map_or(0, |new| new.as_str().len());
        let longer = longer.saturating_sub(old.as_str().len()) as u64 + EVENT_BYTES;
        loop {
            let step = Instant::now();
            let links = self.retag_step(owner, (old, new), longer, address).await?;
            changed += u64::from(links);
            // Of a whole step some links may be gone meanwhile: only an empty one is the last.
            if links == 0 {
                return Ok(changed > 0);
            }
            if began.elapsed() > WORK_FOR {
                let is_left = self.store.has_tag(owner, old).await?;
                return if is_left {
                    Err(LinkError::TagLeft(changed))
                } else {
                    Ok(true)
                };
            }
            // Leaves as much time for other work.
            sleep(step.elapsed()).await;
        }
    }

    async fn retag_step(
        &self,
        owner: Principal,
        (old, new): (&SearchTag, Option<&SearchTag>),
        longer: u64,
        address: &str,
    ) -> Result<u32, LinkError> {
        let _turn = self.searches.turn(owner.user).await?;
        let bytes = longer * u64::from(RETAGGED_IN_STEP);
        if new.is_some_and(|new| new.as_str().len() > old.as_str().len()) {
            self.room.check()?;
        }
        self.add_changed_bytes(address, bytes).await?;
        let links = self
            .store
            .retag_some(owner, (old, new), self.clock.now())
            .await;
        let unused = bytes - longer * u64::from(*links.as_ref().unwrap_or(&0));
        if unused > 0 {
            self.limiter.refund_today(Daily::LinkBytes, address, unused);
        }
        Ok(links?)
    }
}
