//! The second factor of an account: an app that shows codes, and recovery codes.

use ring::digest::{SHA256, digest};

use super::events::Event;
use super::{AccountError, Accounts, Client, new_key};
use crate::domain::{
    OneTimePassword, Password, Principal, RecoveryCode, TokenKey, TotpSecret, TwoFactorRule, UserId,
};
use crate::store::{Factors, NewTotp, committed};

/// Recovery codes of an account.
const RECOVERY_CODES: usize = 10;

/// What seals are for: a sign-in that waits for its second factor, and an app that is to be added.
const SIGN_IN: &str = "second factor";
const SET_UP: &str = "add a second factor";

/// Longest page to which a sign-in leads: a longer one is forgotten.
const MAX_NEXT: usize = 1_024;

/// An app that is to be added: what the form has of it until a code confirms it.
pub struct SetUp {
    /// What the app and the service share.
    pub secret: TotpSecret,
    /// The same, signed.
    pub sealed: String,
}

/// A sign-in that waits for its second factor.
pub(super) struct WithFactor {
    pub(super) factors: Factors,
    pub(super) next: String,
}

impl Accounts {
    /// Whose accounts need a second factor.
    #[must_use]
    pub fn two_factor_rule(&self) -> TwoFactorRule {
        self.two_factors
    }

    /// What an account has beside its password.
    ///
    /// # Errors
    /// [`AccountError::Gone`], [`AccountError::Store`].
    pub async fn factors(&self, owner: Principal) -> Result<Factors, AccountError> {
        let factors = self.store.factors(owner.user).await?;
        let factors = factors.filter(|factors| factors.principal.key == owner.key);
        factors.ok_or(AccountError::Gone)
    }

    /// Checks the second factor of an account whose password was right.
    pub(super) async fn second_factor(
        &self,
        client: &Client,
        principal: Principal,
        otp: Option<&OneTimePassword>,
    ) -> Result<(), AccountError> {
        let factors = self.factors(principal).await;
        let factors = factors.map_err(|error| match error {
            // It was deleted, or got another password, since it was read.
            AccountError::Gone => AccountError::WrongCredentials,
            error => error,
        })?;
        match (&factors.totp, otp) {
            (None, _) if self.two_factors.binds(factors.is_admin) => {
                Err(AccountError::FactorMissing)
            }
            (None, _) => Ok(()),
            (Some(_), None) => Err(AccountError::OtpNeeded),
            (Some(_), Some(otp)) => self.use_otp(client, &factors, otp).await,
        }
    }

    /// What a browser keeps of a sign-in whose password was right. It says which account that is, and is good for nothing but the
    /// second factor.
    pub(super) fn with_factor_to_come(&self, principal: Principal, next: &str) -> String {
        let next = if next.len() <= MAX_NEXT { next } else { "" };
        let payload = format!("{} {next}", marked(principal));
        self.tokens
            .seals()
            .seal(SIGN_IN, self.clock.now(), &payload)
    }

    /// Whether a sign-in waits for its second factor still.
    #[must_use]
    pub fn waits_for_factor(&self, sealed: &str) -> bool {
        let now = self.clock.now();
        self.tokens.seals().open(SIGN_IN, sealed, now).is_some()
    }

    pub(super) async fn with_factor(
        &self,
        sealed: &str,
    ) -> Result<Option<WithFactor>, AccountError> {
        let now = self.clock.now();
        let payload = self.tokens.seals().open(SIGN_IN, sealed, now);
        let payload = payload.unwrap_or_default();
        let Some((user, mark, next)) = parts(&payload) else {
            return Ok(None);
        };
        let factors = self.store.factors(user).await?;
        let factors =
            factors.filter(|factors| factors.totp.is_some() && mark_of(factors.principal) == mark);
        Ok(factors.map(|factors| WithFactor {
            factors,
            next: next.to_owned(),
        }))
    }

    /// Checks a second factor as an attempt of its own: a wrong one counts as a failed log-in, by address and by account.
    pub(super) async fn guarded_otp(
        &self,
        client: &Client,
        factors: &Factors,
        otp: &OneTimePassword,
    ) -> Result<(), AccountError> {
        let (address, user) = (client.address(), factors.principal.user);
        let is_known = self.known.knows(&factors.email, address);
        let account = factors.email.lookup_key();
        let attempt = self.failures.begin(&account, address, is_known).await;
        let attempt = attempt.inspect_err(|_| Event::LoginFailMax.log(Some(user), address))?;
        let outcome = self.use_otp(client, factors, otp).await;
        if !matches!(outcome, Err(AccountError::WrongOtp)) {
            attempt.forgive().await;
        }
        outcome
    }

    /// Refuses what a password by itself began, if the account must have a second factor, and has passkeys only.
    ///
    /// # Errors
    /// [`AccountError::PasskeyNeeded`], [`AccountError::Store`].
    pub async fn needs_passkey(
        &self,
        factors: &Factors,
        is_strong: bool,
    ) -> Result<(), AccountError> {
        let is_bound = self.two_factors.binds(factors.is_admin);
        if is_strong || !is_bound || factors.totp.is_some() {
            return Ok(());
        }
        if self.passkeys(factors.principal).await?.is_empty() {
            return Ok(());
        }
        Err(AccountError::PasskeyNeeded)
    }

    /// Checks the second factor of an account whose password was right, if it has one, as an attempt of its own. `is_strong`: whether
    /// more than a password has signed in already.
    pub(super) async fn confirm_factor(
        &self,
        client: &Client,
        owner: Principal,
        otp: Option<&OneTimePassword>,
        is_strong: bool,
    ) -> Result<(), AccountError> {
        let factors = self.factors(owner).await?;
        self.needs_passkey(&factors, is_strong).await?;
        match (&factors.totp, otp) {
            (None, _) => Ok(()),
            (Some(_), None) => Err(AccountError::OtpNeeded),
            (Some(_), Some(otp)) => self.guarded_otp(client, &factors, otp).await,
        }
    }

    /// Uses a code up.
    async fn use_otp(
        &self,
        client: &Client,
        factors: &Factors,
        otp: &OneTimePassword,
    ) -> Result<(), AccountError> {
        let (user, address) = (factors.principal.user, client.address());
        let now = self.clock.now();
        let is_used = match (&factors.totp, otp) {
            (Some(totp), OneTimePassword::Code(code)) => {
                match totp.secret.step_of(*code, now, totp.last_step) {
                    Some(step) => self.store.use_step(user, &totp.secret, step).await?,
                    None => false,
                }
            }
            (Some(_), OneTimePassword::Recovery(code)) => {
                let using = self
                    .store
                    .use_recovery_code(user, code.hash(), address, now);
                let is_used = using.await?;
                if is_used {
                    Event::RecoveryCodeUsed.log(Some(user), address);
                }
                is_used
            }
            (None, _) | (_, OneTimePassword::Neither) => false,
        };
        if is_used {
            return Ok(());
        }
        Event::LoginFail.log_failed(user, address, "one-time password");
        Err(AccountError::WrongOtp)
    }

    /// Begins to add an app to an account.
    ///
    /// # Errors
    /// [`AccountError::NoKey`].
    pub fn begin_set_up(&self, owner: Principal) -> Result<SetUp, AccountError> {
        let secret = TotpSecret::generate();
        let secret = secret.map_err(|error| AccountError::NoKey(error.to_string()))?;
        let payload = format!("{} {}", marked(owner), secret.base32());
        let sealed = self.tokens.seals().seal(SET_UP, self.clock.now(), &payload);
        Ok(SetUp { secret, sealed })
    }

    /// The app that is to be added; `None` if that took too long, or the form is another account's.
    #[must_use]
    pub fn set_up(&self, owner: Principal, sealed: &str) -> Option<SetUp> {
        let payload = self.tokens.seals().open(SET_UP, sealed, self.clock.now())?;
        let secret = marks(&payload, owner)?;
        let secret = TotpSecret::parse(secret)?;
        let sealed = sealed.to_owned();
        Some(SetUp { secret, sealed })
    }

    /// Adds an app to an account by a code of it: every token and session from before is refused from then on, as with another
    /// password. Returns the account with its next key, and the recovery codes.
    ///
    /// # Errors
    /// [`AccountError`]; [`AccountError::WrongPassword`], [`AccountError::WrongOtp`]; [`AccountError::PasskeyNeeded`] if no more than a
    /// password has signed in (`is_strong`), and that is not enough.
    pub async fn add_app(
        &self,
        client: &Client,
        (owner, is_strong): (Principal, bool),
        password: Password,
        set_up: &SetUp,
        otp: &OneTimePassword,
    ) -> Result<(Principal, Vec<RecoveryCode>), AccountError> {
        self.confirm(client, owner, password, Event::LoginFail)
            .await?;
        let factors = self.factors(owner).await?;
        self.needs_passkey(&factors, is_strong).await?;
        let now = self.clock.now();
        // The owner has the secret before the eyes: a wrong code is no guess.
        let step = match otp {
            OneTimePassword::Code(code) => set_up.secret.step_of(*code, now, 0),
            OneTimePassword::Recovery(_) | OneTimePassword::Neither => None,
        };
        let step = step.ok_or(AccountError::WrongOtp)?;
        let (codes, hashes) = recovery_codes()?;
        let key = new_key()?;
        let new = NewTotp {
            owner,
            key,
            secret: &set_up.secret,
            step,
            recovery_codes: &hashes,
        };
        if !self.store.add_totp(new, client.address(), now).await? {
            return Err(AccountError::Gone);
        }
        committed();
        Event::FactorAdded.log(Some(owner.user), client.address());
        Ok((Principal { key, ..owner }, codes))
    }

    /// Takes the app from an account, by its password and a code. Returns the account with its next key, as [`Accounts::add_app`].
    ///
    /// # Errors
    /// [`AccountError`]; [`AccountError::FactorMissing`] if the account must have a second factor.
    pub async fn remove_app(
        &self,
        client: &Client,
        owner: Principal,
        password: Password,
        otp: &OneTimePassword,
    ) -> Result<Principal, AccountError> {
        let factors = self.factors(owner).await?;
        if self.two_factors.binds(factors.is_admin) {
            return Err(AccountError::FactorMissing);
        }
        self.confirmed(client, owner, password, otp).await?;
        let (key, now) = (new_key()?, self.clock.now());
        let removed = self.store.remove_totp(owner, key, client.address(), now);
        if !removed.await? {
            return Err(AccountError::Gone);
        }
        committed();
        Event::FactorRemoved.log(Some(owner.user), client.address());
        Ok(Principal { key, ..owner })
    }

    /// Gives an account other recovery codes, by its password and a code.
    ///
    /// # Errors
    /// [`AccountError`].
    pub async fn new_recovery_codes(
        &self,
        client: &Client,
        owner: Principal,
        password: Password,
        otp: &OneTimePassword,
    ) -> Result<Vec<RecoveryCode>, AccountError> {
        self.confirmed(client, owner, password, otp).await?;
        let (codes, hashes) = recovery_codes()?;
        let now = self.clock.now();
        let address = client.address();
        let replaced = self
            .store
            .replace_recovery_codes(owner, &hashes, address, now);
        if !replaced.await? {
            return Err(AccountError::Gone);
        }
        committed();
        Event::RecoveryCodesChanged.log(Some(owner.user), address);
        Ok(codes)
    }

    /// Checks the password and a code of an account that is signed in.
    async fn confirmed(
        &self,
        client: &Client,
        owner: Principal,
        password: Password,
        otp: &OneTimePassword,
    ) -> Result<(), AccountError> {
        self.confirm(client, owner, password, Event::LoginFail)
            .await?;
        let factors = self.factors(owner).await?;
        self.guarded_otp(client, &factors, otp).await
    }
}

/// Fresh recovery codes, and their hashes.
fn recovery_codes() -> Result<(Vec<RecoveryCode>, Vec<TokenKey>), AccountError> {
    let codes: Result<Vec<_>, _> = (0..RECOVERY_CODES)
        .map(|_| RecoveryCode::generate())
        .collect();
    let codes = codes.map_err(|error| AccountError::NoKey(error.to_string()))?;
    let hashes = codes.iter().map(RecoveryCode::hash).collect();
    Ok((codes, hashes))
}

/// An account in a seal: its number, and a mark of its key, which itself stays here.
pub(super) fn marked(principal: Principal) -> String {
    format!("{} {}", principal.user.0, mark_of(principal))
}

fn mark_of(principal: Principal) -> String {
    use std::fmt::Write;

    let digest = digest(&SHA256, principal.key.as_bytes());
    let mut mark = String::new();
    for byte in digest.as_ref() {
        // Writing to a string does not fail.
        let _ = write!(mark, "{byte:02x}");
    }
    mark
}

/// The rest of a seal's payload, if it names this account.
pub(super) fn marks(payload: &str, owner: Principal) -> Option<&str> {
    let (user, mark, rest) = parts(payload)?;
    (user == owner.user && mark == mark_of(owner)).then_some(rest)
}

/// The account's number, the mark of its key, and the rest.
fn parts(payload: &str) -> Option<(UserId, &str, &str)> {
    let (user, rest) = payload.split_once(' ')?;
    let (mark, rest) = rest.split_once(' ')?;
    Some((UserId(user.parse().ok()?), mark, rest))
}
