//! Accounts: register, log in, look up; passwords and tokens.

use std::sync::Arc;

use crate::domain::{Clock, EmailAddress, Password, Principal, TokenKey, User};
use crate::limits::{Action, Limiter, TooMany};
use crate::store::{CreateUserError, StoreError, Users};

mod hmac;
mod password;
mod secret;
mod token;

pub use password::{HashError, HasherError, PasswordHasher};
pub use secret::{SecretError, load_or_create_secret};
pub use token::Tokens;

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
    /// The account is gone, or its tokens have ended.
    #[error("the account does not exist")]
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
    /// No key could be drawn for a new account: there is no randomness.
    #[error("no key could be drawn: {0}")]
    NoKey(String),
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
        let key = TokenKey::generate().map_err(|error| AccountError::NoKey(error.to_string()))?;
        let now = self.clock.now();
        match self.users.create_user(email, &hash, key, now).await {
            Ok(user) => self.issue(Principal { user, key }),
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
        let (principal, hash) = credentials
            .map(|credentials| (credentials.principal, credentials.password_hash))
            .unzip();
        // Without an account a dummy hash is checked, so that the time does not show whether there is one.
        let matches = permit.verify(password, hash).await?;
        match principal.filter(|_| matches) {
            Some(principal) => self.issue(principal),
            None => Err(AccountError::WrongCredentials),
        }
    }

    /// The account that a token names.
    ///
    /// # Errors
    /// [`AccountError::Gone`], [`AccountError::Store`].
    pub async fn user(&self, principal: Principal) -> Result<User, AccountError> {
        let user = self.users.user(principal).await?;
        user.ok_or(AccountError::Gone)
    }

    /// The account that a valid token was issued to; it may be gone since.
    #[must_use]
    pub fn principal(&self, token: &str) -> Option<Principal> {
        self.tokens.principal(token)
    }

    fn issue(&self, principal: Principal) -> Result<String, AccountError> {
        self.tokens
            .issue(principal)
            .map_err(|error| AccountError::Token(error.to_string()))
    }
}
