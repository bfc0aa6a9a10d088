//! What owners do with their account: change the password, revoke all tokens, delete the account.

use super::events::Event;
use super::{AccountError, Accounts, Client, new_key};
use crate::domain::{EmailAddress, Password, Principal};
use crate::limits::Action;
use crate::store::{Change, committed};

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
        let deleted = self.store.delete_user(principal, self.clock.now()).await?;
        let changes = deleted.ok_or(AccountError::Gone)?;
        committed();
        Event::UserDeleted.log(Some(principal.user), client.address());
        Ok(changes)
    }

    /// Checks the password of an account whose token was given. Attempts are limited as log-ins are, and a failure counts
    /// as a failed log-in: a stolen token gives no more guesses. Returns the account's address.
    async fn confirm(
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
