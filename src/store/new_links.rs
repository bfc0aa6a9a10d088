//! Links to be created, and what becomes of them.

use super::{Change, StoreError};
use crate::domain::{Link, LinkId, LinkProperties, Principal, ShortCode, Timestamp};

/// A request that its client may repeat: it creates a link once.
#[derive(Clone, Copy, Debug)]
pub struct IdempotentRequest<'a> {
    /// The client's key.
    pub key: &'a str,
    /// A digest of all that the request asks for.
    pub fingerprint: &'a [u8],
}

/// Why a link was not created.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CreateLinkError {
    /// The code belongs to a link, or belonged to one that was deleted.
    #[error("the code is taken")]
    CodeTaken,
    /// So is this alias.
    #[error("the alias {0} is taken")]
    AliasTaken(ShortCode),
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
    /// The key and the fingerprint of the request, if it may be repeated.
    pub request: Option<IdempotentRequest<'a>>,
    /// The address of the client, if the link is to keep it.
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

    /// How many codes it has.
    pub(super) fn codes(&self) -> u64 {
        1 + self.properties.aliases.as_slice().len() as u64
    }

    /// The link, once it is created.
    #[must_use]
    pub fn made(&self, made: CreatedOfMany) -> CreatedLink {
        let link = Link {
            id: made.id,
            code: self.code.clone(),
            owner: self.owner.user,
            made_by: self.owner.user,
            properties: self.properties.clone(),
            created_at: self.created_at,
            updated_at: self.created_at,
            removed: None,
        };
        CreatedLink {
            link,
            changes: made.changes,
        }
    }
}

/// A link that was created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedLink {
    /// The link.
    pub link: Link,
    /// The changes to announce: one if the owner chose the code, and one for each alias.
    pub changes: Vec<Change>,
}

/// A link that was created among many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedOfMany {
    /// Its number.
    pub id: LinkId,
    /// The changes to announce: one if the owner chose the code, and one for each alias.
    pub changes: Vec<Change>,
}

/// What became of each of many links.
pub type Outcome = Result<CreatedOfMany, CreateLinkError>;
