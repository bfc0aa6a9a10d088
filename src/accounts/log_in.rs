//! Logging in: a password, and a second factor if the account has one.

use super::events::Event;
use super::factors::WithFactor;
use super::{AccountError, Accounts, Client};
use crate::domain::{EmailAddress, OneTimePassword, Password, Principal};
use crate::limits::{Action, FailureGuard};

/// What a right password leads to on the pages.
pub enum SignIn {
    /// The account is signed in.
    Done(Principal),
    /// It has a second factor, which is asked for next. What the browser keeps meanwhile.
    NeedsCode(String),
}

impl Accounts {
    /// Issues a token to the owner of these credentials, of which the second factor is looked at after the password only.
    ///
    /// # Errors
    /// [`AccountError`].
    pub async fn log_in(
        &self,
        client: &Client,
        email: &EmailAddress,
        password: Password,
        otp: Option<&OneTimePassword>,
    ) -> Result<String, AccountError> {
        let (principal, attempt) = self.proven(client, email, password).await?;
        match self.second_factor(client, principal, otp).await {
            Ok(()) => {
                attempt.forgive().await;
                self.entered(client, principal).await;
                self.issue(principal)
            }
            // It counts as a failed log-in.
            Err(AccountError::WrongOtp) => Err(AccountError::WrongOtp),
            Err(error) => {
                attempt.forgive().await;
                Err(error)
            }
        }
    }

    /// Signs in to the pages by a password, which leads to the page `next`.
    ///
    /// # Errors
    /// [`AccountError`].
    pub async fn sign_in(
        &self,
        client: &Client,
        email: &EmailAddress,
        password: Password,
        next: &str,
    ) -> Result<SignIn, AccountError> {
        let (principal, attempt) = self.proven(client, email, password).await?;
        attempt.forgive().await;
        let factors = self.store.factors(principal.user).await?;
        if factors.is_some_and(|factors| factors.totp.is_some()) {
            let sealed = self.with_factor_to_come(principal, next);
            return Ok(SignIn::NeedsCode(sealed));
        }
        self.entered(client, principal).await;
        Ok(SignIn::Done(principal))
    }

    /// Goes on with a sign-in by a second factor: returns the account, and the page to which that leads. `None` if it took too long,
    /// or the account has another password or no second factor by now.
    ///
    /// # Errors
    /// [`AccountError`]; [`AccountError::WrongOtp`] counts as a failed log-in.
    pub async fn sign_in_by_code(
        &self,
        client: &Client,
        sealed: &str,
        otp: &OneTimePassword,
    ) -> Result<Option<(Principal, String)>, AccountError> {
        self.limiter.count(Action::Login, client.address()).await?;
        let Some(WithFactor { factors, next }) = self.with_factor(sealed).await? else {
            return Ok(None);
        };
        let principal = factors.principal;
        self.guarded_otp(client, &factors, otp).await?;
        self.entered(client, principal).await;
        Ok(Some((principal, next)))
    }

    /// Checks a password. The attempt counts as a failure until the caller forgives it.
    async fn proven(
        &self,
        client: &Client,
        email: &EmailAddress,
        password: Password,
    ) -> Result<(Principal, FailureGuard), AccountError> {
        let address = client.address();
        self.accepts_passwords()?;
        self.limiter.count(Action::Login, address).await?;
        let is_known = self.known.knows(email, address);
        let attempt = self
            .failures
            .begin(&email.lookup_key(), address, is_known)
            .await
            .inspect_err(|_| Event::LoginFailMax.log(None, address))?;
        match self.authenticated(client, email, password).await {
            Ok(principal) => Ok((principal, attempt)),
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

    pub(super) async fn entered(&self, client: &Client, principal: Principal) {
        let address = client.address();
        Event::LoginSuccess.log(Some(principal.user), address);
        self.known.remember(principal.user, address).await;
    }
}
