//! What owners do with their account: change the password, revoke all tokens, delete the account.

use std::time::Duration;

use super::events::Event;
use super::{AccountError, Accounts, Client, new_key};
use crate::domain::{EmailAddress, Password, Principal, Timestamp};
use crate::limits::Action;
use crate::store::{Change, DeletedUser, committed};

/// For how long a sign-in is as good as a password that is given once more.
const RECENT: Duration = Duration::from_mins(10);

impl Accounts {
    /// Gives an account another password and issues a token. Every token from before is refused from then on, on every
    /// instance: each operation compares the account's key in its own statement.
    ///
    /// # Errors
    /// [`AccountError`]; [`AccountError::WrongPassword`] where `old` is not the account's.
    pub async fn change_password(
        &self,
        client: &Client,
        principal: Principal,
        old: Password,
        new: Password,
    ) -> Result<String, AccountError> {
        self.accepts_passwords()?;
        let email = self
            .confirm(client, principal, old, Event::PasswordChangeFail)
            .await?;
        self.common.check(&new, &email)?;
        let hash = self.hasher.permit(client).await?.hash(new).await?;
        let key = new_key()?;
        if !self.store.change_password(principal, &hash, key).await? {
            return Err(AccountError::Gone);
        }
        committed();
        Event::PasswordChange.log(Some(principal.user), client.address());
        self.issue(Principal { key, ..principal })
    }

    /// Keeps the language of an account's pages, by its tag; empty: the browser's.
    ///
    /// # Errors
    /// [`AccountError::Gone`], [`AccountError::Store`].
    pub async fn choose_language(
        &self,
        principal: Principal,
        tag: &str,
    ) -> Result<(), AccountError> {
        let is_kept = self.store.choose_language(principal, tag).await?;
        is_kept.then_some(()).ok_or(AccountError::Gone)
    }

    /// Ends every token of an account, on every instance.
    ///
    /// # Errors
    /// [`AccountError::Gone`], [`AccountError::Store`], [`AccountError::NoKey`].
    pub async fn end_tokens(
        &self,
        address: &str,
        principal: Principal,
    ) -> Result<(), AccountError> {
        if self.store.end_tokens(principal, new_key()?).await? {
            Event::TokenRevoked.log(Some(principal.user), address);
            Ok(())
        } else {
            Err(AccountError::Gone)
        }
    }

    /// Deletes an account with its links. Returns the changes of links, which are to be announced.
    ///
    /// # Errors
    /// [`AccountError`]; [`AccountError::WrongPassword`] if the password is not the account's.
    pub async fn delete(
        &self,
        client: &Client,
        principal: Principal,
        password: Password,
    ) -> Result<Vec<Change>, AccountError> {
        self.confirm(client, principal, password, Event::LoginFail)
            .await?;
        self.delete_confirmed(client, principal).await
    }

    async fn delete_confirmed(
        &self,
        client: &Client,
        principal: Principal,
    ) -> Result<Vec<Change>, AccountError> {
        let deleted = self
            .store
            .delete_user(principal, true, self.clock.now())
            .await?;
        Self::deleted(client, principal, deleted)
    }

    /// The changes of the links of an account that was deleted.
    pub(super) fn deleted(
        client: &Client,
        principal: Principal,
        deleted: DeletedUser,
    ) -> Result<Vec<Change>, AccountError> {
        match deleted {
            DeletedUser::Gone | DeletedUser::HasLinks => Err(AccountError::Gone),
            DeletedUser::OnlyOwner(group) => Err(AccountError::OnlyOwner(group)),
            DeletedUser::Done(changes) => {
                committed();
                Event::UserDeleted.log(Some(principal.user), client.address());
                Ok(changes)
            }
        }
    }

    /// Whether an account has a password: an account that the identity provider's word created has none.
    ///
    /// # Errors
    /// [`AccountError::Gone`], [`AccountError::Store`].
    pub async fn has_password(&self, principal: Principal) -> Result<bool, AccountError> {
        if self.provider().is_none() {
            return Ok(true);
        }
        let has_password = self.store.has_password(principal).await?;
        has_password.ok_or(AccountError::Gone)
    }

    /// Whether a session began a short time ago.
    #[must_use]
    pub fn is_recent(&self, began_at: Timestamp) -> bool {
        began_at.after(RECENT) > self.clock.now()
    }

    /// Deletes an account without a password, as [`Accounts::delete`], in a session that began a short time ago. `None` if it did not,
    /// or the account has a password.
    ///
    /// # Errors
    /// [`AccountError`].
    pub async fn delete_without_password(
        &self,
        client: &Client,
        principal: Principal,
        began_at: Timestamp,
    ) -> Result<Option<Vec<Change>>, AccountError> {
        if !self.is_recent(began_at) || self.has_password(principal).await? {
            return Ok(None);
        }
        self.delete_confirmed(client, principal).await.map(Some)
    }

    /// Checks the password of an account whose token was given. Attempts are limited as log-ins are, and a failure counts
    /// as a failed log-in: a stolen token gives no more guesses. Returns the account's address.
    pub(super) async fn confirm(
        &self,
        client: &Client,
        principal: Principal,
        password: Password,
        failure: Event,
    ) -> Result<EmailAddress, AccountError> {
        let address = client.address();
        self.limiter.count(Action::Login, address).await?;
        let permit = self.hasher.permit(client).await?;
        let credentials = self.store.credentials_of(principal).await?;
        let credentials = credentials.ok_or(AccountError::Gone)?;
        let email = &credentials.email;
        let is_known = self.known.knows(email, address);
        let account = email.lookup_key();
        let attempt = self.failures.begin(&account, address, is_known).await;
        let attempt =
            attempt.inspect_err(|_| Event::LoginFailMax.log(Some(principal.user), address))?;
        let matches = permit
            .verify(password, Some(credentials.password_hash))
            .await;
        if !matches!(matches, Ok(false)) {
            // It is right, or was not compared.
            attempt.forgive().await;
        }
        if matches? {
            Ok(credentials.email)
        } else {
            failure.log(Some(principal.user), address);
            Err(AccountError::WrongPassword)
        }
    }
}
