//! Accounts: register, log in, look up, change, delete; passwords and tokens.

use std::sync::Arc;

use webauthn_rs::Webauthn;

use crate::domain::{
    Clock, EmailAddress, GroupName, Password, PasswordUse, Principal, Registration,
    RegistrationRefused, Scope, TokenKey, TwoFactorRule, User,
};
use crate::limits::{Action, Daily, FailureLimiter, Limiter, TooMany};
use crate::passwords::HashPermit;
pub use crate::passwords::{Client, HashError, HasherError, PasswordHasher};
use crate::store::{CreateUserError, GroupError, Store, StoreError, committed};

mod api_key;
mod bearer;
mod changing_email;
mod common_passwords;
mod events;
mod factors;
mod forgotten;
mod groups;
mod hmac;
mod identities;
mod identity_provider;
mod joining;
mod joining_identity;
mod keys;
mod known_addresses;
mod log_in;
mod new_password;
mod noted_today;
mod own_account;
mod passkeys;
mod secret;
mod sessions;
mod sign_in_error;
mod sign_in_results;
mod token;

use events::Event;
use known_addresses::KnownAddresses;
use noted_today::NotedToday;

pub use bearer::Access;
pub use changing_email::Proof;
pub use common_passwords::{CommonPasswords, WeakPassword};
pub use factors::SetUp;
pub use identity_provider::{Arrival, Arrived, BegunSignIn, Identities, ProviderAnswer};
pub use keys::MAX_KEYS;
pub use log_in::SignIn;
pub use new_password::NewPassword;
pub use passkeys::{MAX_PASSKEYS, PasskeyChallenge, passkeys_of};
pub use secret::{SecretError, load_or_create_secret};
pub use sessions::{SESSION_LIFETIME, random_text};
pub use sign_in_error::SignInError;
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
    passwords: PasswordUse,
    identities: Option<Identities>,
    two_factors: TwoFactorRule,
    passkeys: Option<Webauthn>,
    clock: Arc<dyn Clock>,
}

/// Why an operation on accounts failed.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// Who may register is limited.
    #[error(transparent)]
    NotAdmitted(#[from] RegistrationRefused),
    /// Passwords log in nowhere.
    #[error("passwords do not log in here")]
    NoPasswords,
    /// Another account has this address.
    #[error("the e-mail address is taken")]
    EmailTaken,
    /// The account has this address already.
    #[error("the account has this e-mail address")]
    OwnEmail,
    /// There is no such account, or the password is wrong.
    #[error("the e-mail address or the password is wrong")]
    WrongCredentials,
    /// The password is right, and a second factor is missing.
    #[error("a one-time password is needed")]
    OtpNeeded,
    /// The one-time password is wrong, or was used before.
    #[error("the one-time password is wrong")]
    WrongOtp,
    /// The account must have a second factor, and has none.
    #[error("the account needs a second factor")]
    FactorMissing,
    /// Passkeys do not sign in here.
    #[error("passkeys do not sign in here")]
    NoPasskeys,
    /// The passkey is unknown, or its answer is not accepted.
    #[error("the passkey is refused")]
    PasskeyRefused,
    /// The account must have a second factor, which is a passkey, and no more than its password has signed in.
    #[error("a passkey of the account is needed")]
    PasskeyNeeded,
    /// The account has as many passkeys as it may have.
    #[error("the account has as many passkeys as it may have")]
    TooManyPasskeys,
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
    /// Something was not done to a group, or for it.
    #[error(transparent)]
    Group(GroupError),
    /// An API key acts for its own account only.
    #[error("a key acts for no group")]
    KeyForGroup,
    /// The account cannot be deleted: it is the only owner of this group.
    #[error("the group {} would have no owner", .0.as_str())]
    OnlyOwner(GroupName),
    /// The account is not deleted yet: so many of its links are moved, and others are left.
    #[error("{0} links are moved so far")]
    LinksLeft(u64),
    /// The group may have no more than so many links.
    #[error("the group may have no more than {0} links")]
    GroupFull(u64),
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
        sign_in_results::publish();
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
            passwords: PasswordUse::Everywhere,
            identities: None,
            two_factors: TwoFactorRule::default(),
            passkeys: None,
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

    /// The same, with an identity provider, and with passwords for no more than this.
    #[must_use]
    pub fn with_identities(self, identities: Option<Identities>, passwords: PasswordUse) -> Self {
        Self {
            passwords,
            identities,
            ..self
        }
    }

    /// The same, in which these accounts need a second factor.
    #[must_use]
    pub fn with_two_factors(self, two_factors: TwoFactorRule) -> Self {
        Self {
            two_factors,
            ..self
        }
    }

    /// The same, with passkeys; `None` for a public address at which browsers have no passkeys.
    #[must_use]
    pub fn with_passkeys(self, passkeys: Option<Webauthn>) -> Self {
        Self { passkeys, ..self }
    }

    /// What passwords are for.
    #[must_use]
    pub fn passwords(&self) -> PasswordUse {
        self.passwords
    }

    /// Refuses a password if passwords log in nowhere.
    fn accepts_passwords(&self) -> Result<(), AccountError> {
        match self.passwords {
            PasswordUse::Nowhere => Err(AccountError::NoPasswords),
            PasswordUse::Everywhere | PasswordUse::Api => Ok(()),
        }
    }

    /// Creates an account and issues its first token. If every account needs a second factor, only a page does: a token would go
    /// without it.
    ///
    /// # Errors
    /// [`AccountError`].
    pub async fn register(
        &self,
        client: &Client,
        email: &EmailAddress,
        password: Password,
    ) -> Result<String, AccountError> {
        if self.two_factors.binds(false) {
            return Err(AccountError::FactorMissing);
        }
        let principal = self.sign_up(client, email, password).await?;
        self.issue(principal)
    }

    /// Creates an account.
    ///
    /// # Errors
    /// [`AccountError`].
    pub async fn sign_up(
        &self,
        client: &Client,
        email: &EmailAddress,
        password: Password,
    ) -> Result<Principal, AccountError> {
        let address = client.address();
        self.accepts_passwords()?;
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
        Ok(principal)
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
