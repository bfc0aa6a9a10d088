//! The contract of links.

use std::collections::HashSet;

use async_trait::async_trait;

use super::{Change, StoreError};
use crate::domain::{
    Link, LinkId, LinkProperties, MaxClicks, Principal, RemovalStatus, ShortCode, Timestamp, UserId,
};

/// Why a link was not created.
#[derive(Clone, Debug, thiserror::Error)]
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
    /// Another request of the owner used the same key of idempotency.
    #[error("the key of the request was used before")]
    KeyUsed,
    /// See [`StoreError`].
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A link to be created.
#[derive(Clone, Debug)]
pub struct NewLink<'a> {
    /// Its code.
    pub code: &'a ShortCode,
    /// Whether the owner chose the code, as opposed to a code that was just drawn. A chosen code may be one of the owner's
    /// deleted links, and its change is announced: an instance may remember that the code was unknown.
    pub is_chosen: bool,
    /// What its owner sets.
    pub properties: &'a LinkProperties,
    /// The account that creates it.
    pub owner: Principal,
    /// When it is created.
    pub created_at: Timestamp,
    /// Clicks that another service counted for it.
    pub clicks: u64,
    /// The key and the fingerprint of the request, where it may be repeated.
    pub request: Option<IdempotentRequest<'a>>,
    /// The address of the client, where the link is to keep it.
    pub address: Option<&'a str>,
}

impl<'a> NewLink<'a> {
    /// A link under a drawn code, without clicks.
    #[must_use]
    pub fn new(
        code: &'a ShortCode,
        properties: &'a LinkProperties,
        owner: Principal,
        created_at: Timestamp,
    ) -> Self {
        Self {
            code,
            is_chosen: false,
            properties,
            owner,
            created_at,
            clicks: 0,
            request: None,
            address: None,
        }
    }

    /// The link, once the database gave it a number.
    pub(super) fn with_id(&self, id: LinkId) -> Link {
        Link {
            id,
            code: self.code.clone(),
            owner: self.owner.user,
            properties: self.properties.clone(),
            created_at: self.created_at,
            updated_at: self.created_at,
            removed: None,
        }
    }

    /// The link, where it was created among many.
    #[must_use]
    pub fn made(&self, made: CreatedOfMany) -> CreatedLink {
        CreatedLink {
            link: self.with_id(made.id),
            change: made.change,
        }
    }

    /// The link, and the change that announces a chosen code.
    pub(super) fn created(&self, id: LinkId, change: Option<i64>) -> CreatedLink {
        CreatedLink {
            link: self.with_id(id),
            change: change.map(|number| Change {
                number,
                code: Some(self.code.clone()),
            }),
        }
    }
}

/// A request that its client may repeat: it creates a link once.
#[derive(Clone, Copy, Debug)]
pub struct IdempotentRequest<'a> {
    /// The client's key.
    pub key: &'a str,
    /// A digest of all that the request asks for.
    pub fingerprint: &'a [u8],
}

/// The link that an earlier request with a key of idempotency created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedKey {
    /// The digest of that request.
    pub fingerprint: Vec<u8>,
    /// Its link.
    pub id: LinkId,
    /// The link's code.
    pub code: ShortCode,
    /// When the link was created.
    pub created_at: Timestamp,
    /// How it is answered, where it was removed meanwhile.
    pub removed: Option<RemovalStatus>,
}

/// A link that was created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedLink {
    /// The link.
    pub link: Link,
    /// The change to announce, where the owner chose the code.
    pub change: Option<Change>,
}

/// A link that was created among many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedOfMany {
    /// Its number.
    pub id: LinkId,
    /// The change to announce, where the owner chose the code.
    pub change: Option<Change>,
}

/// The result of an edit.
#[derive(Clone, Debug)]
pub enum Edited {
    /// There is no such link, it is another's or the owner's account is gone or has another key.
    NotFound,
    /// The link is not as the client expected.
    Refused,
    /// It is changed, or was so already.
    Done(Box<EditedLink>),
}

/// A link that was edited.
#[derive(Clone, Debug)]
pub struct EditedLink {
    /// The link as it is now.
    pub link: ToCount<Link>,
    /// The clicks that the database has, read in the same transaction: as [`Clicks::counts`] without flushes.
    ///
    /// [`Clicks::counts`]: super::Clicks::counts
    pub clicks: u64,
    /// The change to announce, where something changed.
    pub change: Option<Change>,
}

/// What a preview shows of a link beside its statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkMade {
    /// When it was made.
    pub at: Timestamp,
    /// How often it redirects, where that is limited.
    pub max_clicks: Option<MaxClicks>,
}

/// The result of a deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// There is no such link, it is another's or the owner's account is gone or has another key.
    NotFound,
    /// The link is not as the client expected.
    Refused,
    /// The change to announce.
    Done(Change),
}

/// The most links that an account may have, as a number of the database; 0 is any number.
pub(super) fn quota(max_links: u64) -> i64 {
    match max_links {
        0 => i64::MAX,
        max_links => i64::try_from(max_links).unwrap_or(i64::MAX),
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

/// Makes new properties of a link, or refuses to.
pub type EditLink<'a> = &'a (dyn Fn(&Link) -> Option<LinkProperties> + Send + Sync);

/// Whether a link is as its owner expects it.
pub type IsExpected<'a> = &'a (dyn Fn(&Link) -> bool + Send + Sync);

/// Links.
#[async_trait]
pub trait Links: Send + Sync {
    /// Creates an active link with no clicks, of an owner who has fewer than `max_links` (0: any number), exactly so under
    /// concurrency, too. The code of a deleted link is refused as taken, unless its former owner chose it.
    async fn create_link(
        &self,
        link: NewLink<'_>,
        max_links: u64,
    ) -> Result<CreatedLink, CreateLinkError>;

    /// Creates many links of one owner, each as [`Links::create_link`] does; returns the outcome for each, in their order.
    /// Either all codes were drawn, or all were chosen; of two that are the same the second is taken. `created_at` is that of
    /// the first.
    ///
    /// # Errors
    /// Where the owner is gone, or the database failed: none of the links is created then, unless it did not say so. Where it
    /// fails in the middle, that is the outcome of the links that are not created.
    async fn create_links(
        &self,
        links: &[NewLink<'_>],
        max_links: u64,
    ) -> Result<Vec<Result<CreatedOfMany, CreateLinkError>>, CreateLinkError>;

    /// Those of these codes that a new link of this owner may not have: they belong to links, or did to links of others.
    async fn taken_codes(
        &self,
        owner: UserId,
        codes: &[&ShortCode],
    ) -> Result<HashSet<ShortCode>, StoreError>;

    /// The link that a request with this key created since `since`. Older uses of the key are forgotten.
    async fn used_key(
        &self,
        owner: Principal,
        key: &str,
        since: Timestamp,
    ) -> Result<Option<UsedKey>, StoreError>;

    /// Removes up to `limit` uses of keys before `before`; returns how many were removed.
    async fn prune_keys(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError>;

    /// Gives a link of this owner the properties that `edit` makes of its present ones, and notes the change in the outbox,
    /// in one transaction; edits of one link come one after the other. `edit` returns `None` to leave the link alone.
    async fn edit_link(
        &self,
        owner: Principal,
        code: &ShortCode,
        edit: EditLink<'_>,
        now: Timestamp,
    ) -> Result<Edited, StoreError>;

    /// Deletes a link of this owner if it is as expected, retires its code and notes the change in the outbox, in one
    /// transaction: no edit comes in between. `None` expects nothing.
    async fn delete_link(
        &self,
        owner: Principal,
        code: &ShortCode,
        is_expected: Option<IsExpected<'_>>,
    ) -> Result<Deleted, StoreError>;

    /// Removes the counted clicks of up to `limit` deleted links above `after`, in rising order of ids, and waits for no
    /// flush. Clicks that come later still count for no link. Returns the last of these links, where there may be more.
    async fn uncount_deleted(
        &self,
        after: Option<LinkId>,
        limit: u32,
    ) -> Result<Option<LinkId>, StoreError>;
}
