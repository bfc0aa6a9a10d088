//! Accounts: register, log in, look up, change, delete; passwords and tokens.

use std::sync::Arc;

use crate::domain::{
    Clock, EmailAddress, Password, Principal, Registration, RegistrationRefused, TokenKey, User,
};
use crate::limits::{Action, FailureLimiter, Limiter, TooMany};
use crate::store::{CreateUserError, StoreError, Users};

mod client;
mod common_passwords;
mod hmac;
mod known_addresses;
mod own_account;
mod password;
mod secret;
mod token;
mod waiting_room;

use known_addresses::KnownAddresses;

pub use client::Client;
pub use common_passwords::{CommonPasswords, WeakPassword};
pub use password::{HashError, HasherError, PasswordHasher};
pub use secret::{SecretError, load_or_create_secret};
pub use token::{Secrets, TokenFault, Tokens};

/// Registers accounts and checks credentials and tokens; knows no HTTP.
pub struct Accounts {
    users: Arc<dyn Users>,
    hasher: PasswordHasher,
    tokens: Tokens,
    common: CommonPasswords,
    limiter: Limiter,
    failures: FailureLimiter,
    known: KnownAddresses,
    registration: Registration,
    clock: Arc<dyn Clock>,
}

/// Why an operation on accounts failed.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// Who may register is limited.
    #[error(transparent)]
    NotAdmitted(#[from] RegistrationRefused),
    /// Another account has this address.
    #[error("the e-mail address is taken")]
    EmailTaken,
    /// There is no such account, or the password is not its own.
    #[error("the e-mail address or the password is wrong")]
    WrongCredentials,
    /// The new password is one that is guessed first.
    #[error("the password {0}")]
    Weak(#[from] WeakPassword),
    /// The password is not that of the account whose token was given.
    #[error("the password is wrong")]
    WrongPassword,
    /// The account of a token is gone, or its tokens have ended.
    #[error("the account of the token is gone, or its tokens have ended")]
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
    /// No key could be drawn: there is no randomness.
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
        common: CommonPasswords,
        limiter: Limiter,
        failures: FailureLimiter,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let known = KnownAddresses::new(Arc::clone(&users), Arc::clone(&clock));
        Self {
            users,
            hasher,
            tokens,
            common,
            limiter,
            failures,
            known,
            registration: Registration::Open,
            clock,
        }
    }

    /// The same, with registration open to these alone.
    #[must_use]
    pub fn with_registration(self, registration: Registration) -> Self {
        Self {
            registration,
            ..self
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
        self.registration.check(email)?;
        self.common.check(&password, email)?;
        let permit = self.hasher.permit(client).await?;
        // Looked up first: a taken address costs no hash.
        if self.users.credentials(email).await?.is_some() {
            return Err(AccountError::EmailTaken);
        }
        let hash = permit.hash(password).await?;
        let key = new_key()?;
        let now = self.clock.now();
        match self.users.create_user(email, &hash, key, now).await {
            Ok(user) => {
                self.known.remember(user, address).await;
                self.issue(Principal { user, key })
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
            Ok(principal) => {
                attempt.forgive().await;
                self.known.remember(principal.user, address).await;
                self.issue(principal)
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
    ) -> Result<Principal, AccountError> {
        let permit = self.hasher.permit(client).await?;
        let credentials = self.users.credentials(email).await?;
        let (principal, hash) = credentials
            .map(|credentials| (credentials.principal, credentials.password_hash))
            .unzip();
        // Without an account a dummy hash is checked, so that the time does not show whether there is one.
        let matches = permit.verify(password, hash).await?;
        principal
            .filter(|_| matches)
            .ok_or(AccountError::WrongCredentials)
    }

    /// The account that a token names.
    ///
    /// # Errors
    /// [`AccountError::Gone`], [`AccountError::Store`].
    pub async fn user(&self, principal: Principal) -> Result<User, AccountError> {
        let user = self.users.user(principal).await?;
        user.ok_or(AccountError::Gone)
    }

    /// The account that a valid token was issued to; it may be gone since, or have another key.
    ///
    /// # Errors
    /// [`TokenFault`]: the token is not valid.
    pub fn principal(&self, token: &str) -> Result<Principal, TokenFault> {
        self.tokens.principal(token)
    }

    fn issue(&self, principal: Principal) -> Result<String, AccountError> {
        self.tokens
            .issue(principal)
            .map_err(|error| AccountError::Token(error.to_string()))
    }
}

fn new_key() -> Result<TokenKey, AccountError> {
    TokenKey::generate().map_err(|error| AccountError::NoKey(error.to_string()))
}
