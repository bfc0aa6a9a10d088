//! API keys: created, listed and revoked by their owner, who is logged in.

use super::events::Event;
use super::{AccountError, Accounts, api_key};
use crate::domain::{ApiKey, KeyName, Principal, Scope, Timestamp};
use crate::store::{CreateKeyError, NewApiKey, committed};

/// Keys that an account may have.
pub const MAX_KEYS: u32 = 50;

impl Accounts {
    /// Makes a key. Returns it with its text, which is kept nowhere.
    ///
    /// # Errors
    /// [`AccountError`].
    pub async fn create_key(
        &self,
        address: &str,
        owner: Principal,
        name: &KeyName,
        scope: Scope,
        expires_at: Option<Timestamp>,
    ) -> Result<(ApiKey, String), AccountError> {
        let now = self.clock.now();
        if expires_at.is_some_and(|end| end <= now) {
            return Err(AccountError::EndsInPast);
        }
        self.store.room.check()?;
        let no_key = |error: getrandom::Error| AccountError::NoKey(error.to_string());
        let text = api_key::generate(owner.user, scope).map_err(no_key)?;
        let hash = api_key::hash(&text);
        let hash = hash.ok_or_else(|| AccountError::NoKey("it has no hash".into()))?;
        let new = NewApiKey {
            owner,
            hash,
            name,
            scope,
            created_at: now,
            expires_at,
        };
        match self.store.create_api_key(new, MAX_KEYS).await {
            Ok(key) => {
                committed();
                Event::TokenCreated.log(Some(owner.user), address);
                Ok((key, text))
            }
            Err(CreateKeyError::OwnerGone) => Err(AccountError::Gone),
            Err(CreateKeyError::TooMany) => Err(AccountError::TooManyKeys),
            Err(CreateKeyError::Store(error)) => Err(error.into()),
        }
    }

    /// The keys of an account, newest first.
    ///
    /// # Errors
    /// [`AccountError::Gone`], [`AccountError::Store`].
    pub async fn keys(&self, owner: Principal) -> Result<Vec<ApiKey>, AccountError> {
        self.store
            .api_keys_of(owner)
            .await?
            .ok_or(AccountError::Gone)
    }

    /// Revokes a key, on every instance at once. `false` if the account has no such key.
    ///
    /// # Errors
    /// [`AccountError::Gone`], [`AccountError::Store`].
    pub async fn delete_key(
        &self,
        address: &str,
        owner: Principal,
        id: i64,
    ) -> Result<bool, AccountError> {
        if self.store.delete_api_key(owner, id).await? {
            Event::TokenRevoked.log(Some(owner.user), address);
            return Ok(true);
        }
        // A key would have shown that the account still exists.
        self.user(owner).await?;
        Ok(false)
    }

    /// Notes that a key is used today: one statement for each key, day and process.
    pub(super) async fn note_use(&self, key: Principal) -> Result<(), AccountError> {
        let today = self.clock.now().date();
        if self.noted_uses.has(&key.key, &today) {
            return Ok(());
        }
        match self.store.note_api_key_use(key, &today).await {
            Ok(true) => self.noted_uses.add(key.key, today),
            Ok(false) => return Err(AccountError::Gone),
            // The request asks the database itself, and may be answered all the same.
            Err(error) => tracing::debug!(%error, "the use of a key could not be noted"),
        }
        Ok(())
    }
}
