//! Accounts that are made without registration: by an invitation, and the first administrator by the settings.

use super::events::Event;
use super::{AccountError, Accounts, Client, new_key};
use crate::domain::{EmailAddress, Invitation, OneTimeToken, Password, Principal, UserId};
use crate::limits::Action;
use crate::store::{Actor, CreateUserError, NewAccount, committed};

/// Whose work the account is that the settings name.
const BY_SETTINGS: Actor<'_> = Actor {
    user: None,
    address: "ADMIN_EMAIL",
};

impl Accounts {
    /// The open invitation of a token; `None` if it was used, revoked or replaced, has expired, or never was.
    ///
    /// # Errors
    /// [`AccountError::Store`].
    pub async fn invitation(
        &self,
        token: &OneTimeToken,
    ) -> Result<Option<Invitation>, AccountError> {
        Ok(self
            .store
            .invitation(token.hash(), self.clock.now())
            .await?)
    }

    /// Makes the account of an invitation. `None` as for [`Accounts::invitation`].
    ///
    /// # Errors
    /// [`AccountError`]; the invitation stays then.
    pub async fn join(
        &self,
        client: &Client,
        token: &OneTimeToken,
        password: Password,
    ) -> Result<Option<Principal>, AccountError> {
        let address = client.address();
        self.limiter.count(Action::Register, address).await?;
        let Some(invited) = self.invitation(token).await? else {
            return Ok(None);
        };
        let email = &invited.email;
        self.common.check(&password, email)?;
        self.store.room.check()?;
        let password_hash = self.hasher.permit(client).await?.hash(password).await?;
        let key = new_key()?;
        let account = NewAccount {
            email,
            password_hash: &password_hash,
            key,
        };
        let now = self.clock.now();
        let joined = self.store.join(token.hash(), account, address, now).await;
        let Some(user) = joined.map_err(not_made)? else {
            return Ok(None);
        };
        committed();
        Event::UserCreated.log(Some(user), address);
        self.known.remember(user, address).await;
        Ok(Some(Principal { user, key }))
    }

    /// Whether an address has an account.
    ///
    /// # Errors
    /// [`AccountError::Store`].
    pub async fn is_registered(&self, email: &EmailAddress) -> Result<bool, AccountError> {
        Ok(self.store.credentials(email).await?.is_some())
    }

    /// Makes the administrator whom the settings name.
    ///
    /// # Errors
    /// [`AccountError`]; nothing is changed if the address has an account.
    pub async fn create_administrator(
        &self,
        email: &EmailAddress,
        password: Password,
    ) -> Result<UserId, AccountError> {
        self.common.check(&password, email)?;
        let password_hash = self.hasher.hash_alone(password).await?;
        let account = NewAccount {
            email,
            password_hash: &password_hash,
            key: new_key()?,
        };
        let now = self.clock.now();
        let created = self.store.create_administrator(account, BY_SETTINGS, now);
        let user = created.await.map_err(not_made)?;
        Event::UserCreated.log(Some(user), BY_SETTINGS.address);
        Ok(user)
    }
}

fn not_made(error: CreateUserError) -> AccountError {
    match error {
        CreateUserError::EmailTaken => AccountError::EmailTaken,
        CreateUserError::Store(error) => error.into(),
    }
}
