//! Accounts: register, log in, look up; passwords and tokens.

use std::sync::Arc;

use crate::domain::{Clock, EmailAddress, Password, User, UserId};
use crate::limits::{Action, FailureLimiter, Limiter, TooMany};
use crate::store::{CreateUserError, StoreError, Users};

mod client;
mod hmac;
mod known_addresses;
mod password;
mod secret;
mod token;
mod waiting_room;

use known_addresses::KnownAddresses;

pub use client::Client;
pub use password::{HashError, HasherError, PasswordHasher};
pub use secret::{SecretError, load_or_create_secret};
pub use token::{TokenFault, Tokens};

/// Registers accounts and checks credentials and tokens; knows no HTTP.
pub struct Accounts {
    users: Arc<dyn Users>,
    hasher: PasswordHasher,
    tokens: Tokens,
    limiter: Limiter,
    failures: FailureLimiter,
    known: KnownAddresses,
    clock: Arc<dyn Clock>,
}

/// Why an operation on accounts failed.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// Another account has this address.
    #[error("the e-mail address is taken")]
    EmailTaken,
    /// There is no such account, or the password is not its own.
    #[error("the e-mail address or the password is wrong")]
    WrongCredentials,
    /// The account of a token is gone.
    #[error("the account of the token is gone")]
    Gone,
    /// The client or the account reached a limit.
    #[error(transparent)]
    TooMany(#[from] TooMany),
    /// The password could not be hashed.
    #[error(transparent)]
    Hash(#[from] HashError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A token could not be signed: a defect.
    #[error("no token could be signed: {0}")]
    Token(String),
}

impl Accounts {
    /// Accounts kept in `users`.
    #[must_use]
    pub fn new(
        users: Arc<dyn Users>,
        hasher: PasswordHasher,
        tokens: Tokens,
        limiter: Limiter,
        failures: FailureLimiter,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let known = KnownAddresses::new(Arc::clone(&users), Arc::clone(&clock));
        Self {
            users,
            hasher,
            tokens,
            limiter,
            failures,
            known,
            clock,
        }
    }

    /// Creates an account and issues its first token.
    ///
    /// # Errors
    /// [`AccountError`].
    pub async fn register(
        &self,
        client: &Client,
        email: &EmailAddress,
        password: Password,
    ) -> Result<String, AccountError> {
        let address = client.address();
        self.limiter.count(Action::Register, address).await?;
        let permit = self.hasher.permit(client).await?;
        // Looked up first: a taken address costs no hash.
        if self.users.credentials(email).await?.is_some() {
            return Err(AccountError::EmailTaken);
        }
        let hash = permit.hash(password).await?;
        match self.users.create_user(email, &hash, self.clock.now()).await {
            Ok(user) => {
                self.known.remember(user, address).await;
                self.issue(user)
            }
            Err(CreateUserError::EmailTaken) => Err(AccountError::EmailTaken),
            Err(CreateUserError::Store(error)) => Err(error.into()),
        }
    }

    /// Issues a token to the owner of these credentials.
    ///
    /// # Errors
    /// [`AccountError`].
    pub async fn log_in(
        &self,
        client: &Client,
        email: &EmailAddress,
        password: Password,
    ) -> Result<String, AccountError> {
        let address = client.address();
        self.limiter.count(Action::Login, address).await?;
        let is_known = async || self.known.knows(email, address).await;
        let attempt = self
            .failures
            .begin(&email.lookup_key(), address, is_known)
            .await?;
        match self.authenticated(client, email, password).await {
            Ok(user) => {
                attempt.forgive().await;
                self.known.remember(user, address).await;
                self.issue(user)
            }
            Err(AccountError::WrongCredentials) => Err(AccountError::WrongCredentials),
            // No password was tried.
            Err(error) => {
                attempt.forgive().await;
                Err(error)
            }
        }
    }

    async fn authenticated(
        &self,
        client: &Client,
        email: &EmailAddress,
        password: Password,
    ) -> Result<UserId, AccountError> {
        let permit = self.hasher.permit(client).await?;
        let credentials = self.users.credentials(email).await?;
        let (user, hash) = credentials
            .map(|credentials| (credentials.user, credentials.password_hash))
            .unzip();
        // Without an account a dummy hash is checked, so that the time does not show whether there is one.
        let matches = permit.verify(password, hash).await?;
        user.filter(|_| matches)
            .ok_or(AccountError::WrongCredentials)
    }

    /// The account with this id.
    ///
    /// # Errors
    /// [`AccountError::Gone`], [`AccountError::Store`].
    pub async fn user(&self, id: UserId) -> Result<User, AccountError> {
        self.users.user(id).await?.ok_or(AccountError::Gone)
    }

    /// The user that a valid token was issued to; the account may be gone since.
    ///
    /// # Errors
    /// [`TokenFault`]: the token is not valid.
    pub fn token_owner(&self, token: &str) -> Result<UserId, TokenFault> {
        self.tokens.owner(token)
    }

    fn issue(&self, user: UserId) -> Result<String, AccountError> {
        self.tokens
            .issue(user)
            .map_err(|error| AccountError::Token(error.to_string()))
    }
}
