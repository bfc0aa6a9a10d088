//! Accounts: register, log in, look up; passwords and tokens.

use std::sync::Arc;

use crate::domain::{Clock, EmailAddress, Password, User, UserId};
use crate::limits::{Action, Limiter, TooMany};
use crate::store::{CreateUserError, StoreError, Users};

mod hmac;
mod password;
mod secret;
mod token;

pub use password::{HashError, HasherError, PasswordHasher};
pub use secret::{SecretError, load_or_create_secret};
pub use token::{TokenFault, Tokens};

/// Registers accounts and checks credentials and tokens; knows no HTTP.
pub struct Accounts {
    users: Arc<dyn Users>,
    hasher: PasswordHasher,
    tokens: Tokens,
    limiter: Limiter,
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
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            users,
            hasher,
            tokens,
            limiter,
            clock,
        }
    }

    /// Creates an account and issues its first token. `client` is the address that is limited.
    ///
    /// # Errors
    /// [`AccountError`].
    pub async fn register(
        &self,
        client: &str,
        email: &EmailAddress,
        password: Password,
    ) -> Result<String, AccountError> {
        self.limiter.count(Action::Register, client).await?;
        let permit = self.hasher.permit().await?;
        // Looked up first: a taken address costs no hash.
        if self.users.credentials(email).await?.is_some() {
            return Err(AccountError::EmailTaken);
        }
        let hash = permit.hash(password).await?;
        match self.users.create_user(email, &hash, self.clock.now()).await {
            Ok(user) => self.issue(user),
            Err(CreateUserError::EmailTaken) => Err(AccountError::EmailTaken),
            Err(CreateUserError::Store(error)) => Err(error.into()),
        }
    }

    /// Issues a token to the owner of these credentials. `client` is the address that is limited.
    ///
    /// # Errors
    /// [`AccountError`].
    pub async fn log_in(
        &self,
        client: &str,
        email: &EmailAddress,
        password: Password,
    ) -> Result<String, AccountError> {
        for caller in [client, &email.lookup_key()] {
            self.limiter.count(Action::Login, caller).await?;
        }
        let permit = self.hasher.permit().await?;
        let credentials = self.users.credentials(email).await?;
        let (user, hash) = credentials
            .map(|credentials| (credentials.user, credentials.password_hash))
            .unzip();
        // Without an account a dummy hash is checked, so that the time does not show whether there is one.
        let matches = permit.verify(password, hash).await?;
        match user.filter(|_| matches) {
            Some(user) => self.issue(user),
            None => Err(AccountError::WrongCredentials),
        }
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
