//! The contract of accounts.

use async_trait::async_trait;

use super::{Change, StoreError};
use crate::domain::{EmailAddress, Principal, Timestamp, TokenKey, User, UserId};

/// Why an account was not created.
#[derive(Debug, thiserror::Error)]
pub enum CreateUserError {
    /// Another account has this address, perhaps in another spelling.
    #[error("the e-mail address is taken")]
    EmailTaken,
    /// See [`StoreError`].
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a login is checked against.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// The account that they belong to.
    pub principal: Principal,
    /// Its address, as it was given.
    pub email: EmailAddress,
    /// PHC string of the password.
    pub password_hash: String,
}

/// Changes of a deleted account's links that are announced one by one; past that, every cached link is dropped.
pub const MAX_CHANGES_OF_ACCOUNT: u32 = 10_000;

/// Addresses kept of one account.
pub const MAX_KNOWN_ADDRESSES: i64 = 32;

/// Accounts.
#[async_trait]
pub trait Users: Send + Sync {
    /// Creates an account; `email` is kept as given and unique by [`EmailAddress::lookup_key`]. `key` was just drawn.
    async fn create_user(
        &self,
        email: &EmailAddress,
        password_hash: &str,
        key: TokenKey,
        now: Timestamp,
    ) -> Result<UserId, CreateUserError>;

    /// The credentials of the account with this address: of several, the first by [`EmailAddress::lookup_keys`].
    async fn credentials(&self, email: &EmailAddress) -> Result<Option<Credentials>, StoreError>;

    /// The account that a token names; `None` where it is gone, or has another key by now.
    async fn user(&self, principal: Principal) -> Result<Option<User>, StoreError>;

    /// The credentials of the account that a token names; `None` as for [`Users::user`].
    async fn credentials_of(&self, principal: Principal)
    -> Result<Option<Credentials>, StoreError>;

    /// Gives an account another password, and another key: all its tokens end. `false` where the account is gone, or has
    /// another key than its principal by now.
    async fn change_password(
        &self,
        principal: Principal,
        password_hash: &str,
        key: TokenKey,
    ) -> Result<bool, StoreError>;

    /// Gives an account another key: all its tokens end. `false` as for [`Users::change_password`].
    async fn end_tokens(&self, principal: Principal, key: TokenKey) -> Result<bool, StoreError>;

    /// Deletes an account: its tokens end, its address is free, its links are unknown, in one short transaction; what is
    /// left of it goes by [`Users::remove_deleted`]. Returns the changes of its links, or one change that may be of any
    /// link where there are more than [`MAX_CHANGES_OF_ACCOUNT`]. `None` where the account is gone, or has another key.
    async fn delete_user(
        &self,
        principal: Principal,
        now: Timestamp,
    ) -> Result<Option<Vec<Change>>, StoreError>;

    /// Removes up to `limit` rows of one deleted account. Its codes are retired; the changes of its links were announced
    /// with the account. `false` where nothing is left, or other instances are at it.
    async fn remove_deleted(&self, limit: u32) -> Result<bool, StoreError>;

    /// Notes that an address, as a hash, logged in to an account. The newest [`MAX_KNOWN_ADDRESSES`] of it are kept.
    async fn remember_address(
        &self,
        user: UserId,
        address: i64,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// Whether an address, as a hash, logged in to the account with this e-mail address before.
    async fn knows_address(&self, email: &EmailAddress, address: i64) -> Result<bool, StoreError>;
}
