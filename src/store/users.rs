//! The contract of accounts.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{EmailAddress, Principal, Timestamp, TokenKey, User, UserId};

/// Why an account was not created.
#[derive(Debug, thiserror::Error)]
pub enum CreateUserError {
    /// Another account has this address, perhaps in other letter case.
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

/// Accounts.
#[async_trait]
pub trait Users: Send + Sync {
    /// Creates an account; `email` is kept as given and unique without regard to case. `key` was just drawn.
    async fn create_user(
        &self,
        email: &EmailAddress,
        password_hash: &str,
        key: TokenKey,
        now: Timestamp,
    ) -> Result<UserId, CreateUserError>;

    /// The credentials of the account with this address, without regard to case.
    async fn credentials(&self, email: &EmailAddress) -> Result<Option<Credentials>, StoreError>;

    /// The account that a token names; `None` where it is gone, or has another key by now.
    async fn user(&self, principal: Principal) -> Result<Option<User>, StoreError>;
}
