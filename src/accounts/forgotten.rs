//! Forgotten passwords: the owner of an account gets a link by mail, and chooses another one.

use std::time::Duration;

use super::events::Event;
use super::{AccountError, Accounts, Client, new_key};
use crate::domain::{EmailAddress, OneTimeToken, Password};
use crate::limits::Action;
use crate::store::{NewMailedLink, Reset, committed};

/// How long a mailed link works.
pub(super) const LIFETIME: Duration = Duration::from_mins(30);

impl Accounts {
    /// Counts that an address asks for a link, whether there is such an account or not.
    ///
    /// # Errors
    /// [`AccountError::TooMany`].
    pub async fn count_forgotten(&self, address: &str) -> Result<(), AccountError> {
        Ok(self.limiter.count(Action::MailedLink, address).await?)
    }

    /// Makes a link for the account with an address. `None`: there is no such account, it is banned, or it got a link just now.
    ///
    /// # Errors
    /// [`AccountError::NoKey`], [`AccountError::Store`].
    pub async fn begin_reset(
        &self,
        email: &EmailAddress,
        address: &str,
    ) -> Result<Option<(Reset, OneTimeToken)>, AccountError> {
        let token = OneTimeToken::generate();
        let token = token.map_err(|error| AccountError::NoKey(error.to_string()))?;
        let now = self.clock.now();
        let link = NewMailedLink {
            hash: token.hash(),
            at: now,
            expires_at: now.after(LIFETIME),
        };
        let begun = self.store.begin_reset(email, link).await?;
        Ok(begun.map(|reset| {
            Event::PasswordResetAsked.log(Some(reset.user), address);
            (reset, token)
        }))
    }

    /// The account of a link; `None` if the link was used or replaced, has expired, or never was.
    ///
    /// # Errors
    /// [`AccountError::Store`].
    pub async fn reset(&self, token: &OneTimeToken) -> Result<Option<Reset>, AccountError> {
        Ok(self.store.reset(token.hash(), self.clock.now()).await?)
    }

    /// Gives the account of a link another password; all its tokens and sessions end. `false` as for [`Accounts::reset`].
    ///
    /// # Errors
    /// [`AccountError`]; the link works on then.
    pub async fn use_reset(
        &self,
        client: &Client,
        token: &OneTimeToken,
        password: Password,
    ) -> Result<bool, AccountError> {
        let address = client.address();
        self.limiter.count(Action::Login, address).await?;
        let Some(reset) = self.reset(token).await? else {
            return Ok(false);
        };
        self.common.check(&password, &reset.email)?;
        let hash = self.hasher.permit(client).await?.hash(password).await?;
        let (key, now) = (new_key()?, self.clock.now());
        let changed = self.store.use_reset(token.hash(), &hash, key, address, now);
        let Some(user) = changed.await? else {
            return Ok(false);
        };
        committed();
        Event::PasswordChange.log(Some(user), address);
        Ok(true)
    }
}
