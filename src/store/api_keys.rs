//! The contract of API keys.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{ApiKey, KeyName, Principal, Scope, Timestamp, TokenKey};

/// Why a key was not made.
#[derive(Debug, thiserror::Error)]
pub enum CreateKeyError {
    /// The owner's account is gone, or has another key.
    #[error("the owner does not exist")]
    OwnerGone,
    /// The owner has as many keys as an account may have.
    #[error("the owner has as many keys as an account may have")]
    TooMany,
    /// See [`StoreError`].
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A key to be made.
#[derive(Clone, Debug)]
pub struct NewApiKey<'a> {
    /// The account that makes it, by a token.
    pub owner: Principal,
    /// The hash of the key.
    pub hash: TokenKey,
    /// The owner's name for it.
    pub name: &'a KeyName,
    /// What it may do.
    pub scope: Scope,
    /// When it is made.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
}

impl NewApiKey<'_> {
    /// The key, once the database gave it a number.
    pub(super) fn with_id(&self, id: i64) -> ApiKey {
        ApiKey {
            id,
            name: self.name.clone(),
            scope: self.scope,
            created_at: self.created_at,
            expires_at: self.expires_at,
            last_used_on: None,
        }
    }
}

/// API keys. The operations on them need a token's principal; a key's own principal makes and sees no keys.
#[async_trait]
pub trait ApiKeys: Send + Sync {
    /// Makes a key of an owner who has fewer than `max`, exactly so under concurrency, too.
    async fn create_key(&self, key: NewApiKey<'_>, max: u32) -> Result<ApiKey, CreateKeyError>;

    /// An owner's keys, newest first; `None` where the account is gone, or has another key.
    async fn keys_of(&self, owner: Principal) -> Result<Option<Vec<ApiKey>>, StoreError>;

    /// Ends a key of this owner, on every instance at once. `false` where there is none.
    async fn delete_key(&self, owner: Principal, id: i64) -> Result<bool, StoreError>;

    /// Notes the day on which a key was used, once a day. `key` is the key's own principal; `false` where it has ended.
    async fn note_use(&self, key: Principal, day: &str) -> Result<bool, StoreError>;
}
