//! The contract of links.

use async_trait::async_trait;

use super::{Change, StoreError};
use crate::domain::{Link, LinkId, LinkTarget, Principal, ShortCode, TargetUrl, Timestamp};

/// Why a link was not created.
#[derive(Debug, thiserror::Error)]
pub enum CreateLinkError {
    /// The code belongs to a link, or belonged to one that was deleted.
    #[error("the code is taken")]
    CodeTaken,
    /// The owner's account is gone, or has another key.
    #[error("the owner does not exist")]
    OwnerGone,
    /// The owner has as many links as an account may have.
    #[error("the owner has as many links as an account may have")]
    QuotaReached,
    /// See [`StoreError`].
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A link to be created.
#[derive(Clone, Debug)]
pub struct NewLink<'a> {
    /// A code that was just drawn.
    pub code: &'a ShortCode,
    /// Where it leads.
    pub target: &'a TargetUrl,
    /// The account that creates it.
    pub owner: Principal,
    /// When it is created.
    pub created_at: Timestamp,
}

impl NewLink<'_> {
    /// The link, once the database gave it a number.
    pub(super) fn with_id(&self, id: LinkId) -> Link {
        Link {
            id,
            code: self.code.clone(),
            target: self.target.clone(),
            owner: self.owner.user,
            is_active: true,
            created_at: self.created_at,
        }
    }
}

/// The most links that an account may have, as a number of the database; 0 is any number.
pub(super) fn quota(max_links: u64) -> i64 {
    match max_links {
        0 => i64::MAX,
        max_links => i64::try_from(max_links).unwrap_or(i64::MAX),
    }
}

/// A place in a list of links, newest first: links after it are older.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// `created_at` of the last link seen.
    pub created_at: Timestamp,
    /// `id` of the last link seen.
    pub id: LinkId,
}

impl Position {
    /// Before every link: the last moment there is.
    pub(super) const NEWEST: Self = Self {
        created_at: Timestamp::MAX,
        id: LinkId::LAST,
    };

    /// Just after a link.
    #[must_use]
    pub fn of(link: &Link) -> Self {
        Self {
            created_at: link.created_at,
            id: link.id,
        }
    }
}

/// One link or several, read in order to count their clicks.
#[derive(Clone, Debug)]
pub struct ToCount<T> {
    /// What was read.
    pub value: T,
    /// Whether the journal held parked batches at the same moment: they have to be settled before clicks are counted.
    pub has_parked: bool,
}

/// Links.
#[async_trait]
pub trait Links: Send + Sync {
    /// Creates an active link with no clicks, of an owner who has fewer than `max_links` (0: any number), exactly so under
    /// concurrency, too. The code of a deleted link is refused as taken.
    async fn create_link(&self, link: NewLink<'_>, max_links: u64)
    -> Result<Link, CreateLinkError>;

    /// What a redirect needs of the link with this code, active or not. Goes before operations for which no redirect
    /// waits.
    async fn link_target(&self, code: &ShortCode) -> Result<Option<LinkTarget>, StoreError>;

    /// The same, read in order to count the link's clicks.
    async fn link_to_count(
        &self,
        code: &ShortCode,
    ) -> Result<Option<ToCount<LinkTarget>>, StoreError>;

    /// Up to `limit` links of an owner, newest first (`created_at` falling, then `id` falling),
    /// from just after `after`. None of an owner whose account is gone or has
    /// another key.
    async fn links_of(
        &self,
        owner: Principal,
        after: Option<Position>,
        limit: u32,
    ) -> Result<ToCount<Vec<Link>>, StoreError>;

    /// Deletes a link of this owner, retires its code and notes the change in the outbox, in one transaction; returns
    /// that change. `None` when there is no such link, it is another's or the owner's account is gone or has another
    /// key.
    async fn delete_link(
        &self,
        owner: Principal,
        code: &ShortCode,
    ) -> Result<Option<Change>, StoreError>;

    /// Removes the counted clicks of up to `limit` deleted links above `after`, in rising order of ids, and waits for no
    /// flush. Clicks that come later still count for no link. Returns the last of these links, where there may be more.
    async fn uncount_deleted(
        &self,
        after: Option<LinkId>,
        limit: u32,
    ) -> Result<Option<LinkId>, StoreError>;
}
