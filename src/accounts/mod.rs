//! Accounts: register, log in, look up, change, delete; passwords and tokens.

use std::sync::Arc;

use crate::domain::{
    Clock, EmailAddress, Password, Principal, Registration, RegistrationRefused, Scope, TokenKey,
    User,
};
use crate::limits::{Action, Daily, FailureLimiter, Limiter, TooMany};
use crate::passwords::HashPermit;
pub use crate::passwords::{Client, HashError, HasherError, PasswordHasher};
use crate::store::{CreateUserError, Store, StoreError, committed};

mod api_key;
mod bearer;
mod common_passwords;
mod events;
mod hmac;
mod keys;
mod known_addresses;
mod noted_today;
mod own_account;
mod secret;
mod sessions;
mod token;

use events::Event;
use known_addresses::KnownAddresses;
use noted_today::NotedToday;

pub use bearer::Access;
pub use common_passwords::{CommonPasswords, WeakPassword};
pub use keys::MAX_KEYS;
pub use secret::{SecretError, load_or_create_secret};
pub use sessions::{SESSION_LIFETIME, random_text};
pub use token::{Secrets, TokenFault, Tokens};

/// Registers accounts and checks credentials and tokens; knows no HTTP.
pub struct Accounts {
    store: Store,
    /// Keys whose use today is noted.
    noted_uses: NotedToday<TokenKey>,
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
    /// There is no such account, or the password is wrong.
    #[error("the e-mail address or the password is wrong")]
    WrongCredentials,
    /// The new password is easily guessed.
    #[error("the password {0}")]
    Weak(#[from] WeakPassword),
    /// The password is not that of the token's account.
    #[error("the password is wrong")]
    WrongPassword,
    /// The token or the key is invalid, or has expired.
    #[error(transparent)]
    Refused(#[from] TokenFault),
    /// A key with this scope may not do that.
    #[error("the key may only {}", .0.name())]
    NotPermitted(Scope),
    /// A new key may not have ended already.
    #[error("the key would have ended already")]
    EndsInPast,
    /// The account has as many keys as it may have.
    #[error("the account has as many keys as it may have")]
    TooManyKeys,
    /// The account of a token or a key is gone, or its tokens or the key have ended.
    #[error("the token or key was revoked, or its account was deleted")]
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
    /// No key could be drawn: the system has no randomness.
    #[error("no key could be drawn: {0}")]
    NoKey(String),
    /// A token could not be signed: a defect.
    #[error("no token could be signed: {0}")]
    Token(String),
}

impl Accounts {
    /// Accounts kept in `store`.
    #[must_use]
    pub fn new(
        store: &Store,
        hasher: PasswordHasher,
        tokens: Tokens,
        common: CommonPasswords,
        limiter: Limiter,
        failures: FailureLimiter,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let known =
            KnownAddresses::new(store.clone(), limiter.hasher().clone(), Arc::clone(&clock));
        Self {
            store: store.clone(),
            noted_uses: NotedToday::default(),
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

    /// The same, with registration open only to these.
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
        if self.store.credentials(email).await?.is_some() {
            return Err(AccountError::EmailTaken);
        }
        self.store.room.check()?;
        self.limiter.add_today(Daily::Accounts, address, 1).await?;
        let created = self.create_user(email, password, permit, address).await;
        if created.is_err() {
            self.limiter.refund_today(Daily::Accounts, address, 1);
        }
        let principal = created?;
        self.known.remember(principal.user, address).await;
        self.issue(principal)
    }

    async fn create_user(
        &self,
        email: &EmailAddress,
        password: Password,
        permit: HashPermit,
        address: &str,
    ) -> Result<Principal, AccountError> {
        let hash = permit.hash(password).await?;
        let key = new_key()?;
        let now = self.clock.now();
        match self.store.create_user(email, &hash, key, now).await {
            Ok(user) => {
                committed();
                Event::UserCreated.log(Some(user), address);
                Ok(Principal { user, key })
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
        let is_known = self.known.knows(email, address);
        let attempt = self
            .failures
            .begin(&email.lookup_key(), address, is_known)
            .await
            .inspect_err(|_| Event::LoginFailMax.log(None, address))?;
        match self.authenticated(client, email, password).await {
            Ok(principal) => {
                Event::LoginSuccess.log(Some(principal.user), address);
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
        let credentials = self.store.credentials(email).await?;
        let (principal, hash) = credentials
            .map(|credentials| (credentials.principal, credentials.password_hash))
            .unzip();
        // Without an account a dummy hash is checked, so that the time does not show whether the account exists.
        let matches = permit.verify(password, hash).await?;
        if !matches {
            Event::LoginFail.log(principal.map(|of| of.user), client.address());
        }
        principal
            .filter(|_| matches)
            .ok_or(AccountError::WrongCredentials)
    }

    /// The account that a token names.
    ///
    /// # Errors
    /// [`AccountError::Gone`], [`AccountError::Store`].
    pub async fn user(&self, principal: Principal) -> Result<User, AccountError> {
        let user = self.store.user(principal).await?;
        user.ok_or(AccountError::Gone)
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
