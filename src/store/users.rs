//! The contract of accounts.

use async_trait::async_trait;

use super::StoreError;
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
    /// PHC string of the password.
    pub password_hash: String,
}

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
