//! Authenticates a request: finds the account that its log-in token or API key names.

use super::events::Event;
use super::{AccountError, Accounts, TokenFault, api_key};
use crate::domain::{Principal, Scope};

/// What a request does, and so what a key needs to be for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It reads.
    Read,
    /// It changes something.
    Change,
    /// It creates links.
    Create,
    /// It asks whose the key is.
    Itself,
}

/// Whether a key with this scope is enough.
fn permits(scope: Scope, access: Access) -> bool {
    match scope {
        Scope::Write => true,
        Scope::Read => matches!(access, Access::Read | Access::Itself),
        Scope::Create => matches!(access, Access::Create | Access::Itself),
    }
}

impl Accounts {
    /// The account to which a valid token was issued; it may be deleted since, or have another key. An API key is not a token.
    ///
    /// # Errors
    /// [`AccountError::Refused`]: the token is not valid, or it is a key; [`AccountError::Gone`]: it is a key that was ended.
    pub async fn logged_in(&self, bearer: &str) -> Result<Principal, AccountError> {
        if !bearer.starts_with(api_key::PREFIX) {
            return self.principal_of(bearer);
        }
        let (principal, _) = api_key::parse(bearer).ok_or(TokenFault::Malformed)?;
        self.user(principal).await?;
        Err(TokenFault::Key.into())
    }

    /// The person whom a token names: the principal of a log-in; `None` for an API key.
    ///
    /// # Errors
    /// [`AccountError::Refused`].
    pub fn person(&self, bearer: &str) -> Result<Option<Principal>, AccountError> {
        if bearer.starts_with(api_key::PREFIX) {
            return Ok(None);
        }
        self.principal_of(bearer).map(Some)
    }

    /// Whether a token that was valid before has not expired yet. Whether it was ended otherwise, and whether an API key
    /// was, an operation of the account shows.
    #[must_use]
    pub fn has_time_left(&self, bearer: &str) -> bool {
        bearer.starts_with(api_key::PREFIX) || self.tokens.principal(bearer).is_ok()
    }

    /// Whether a token or a key may read the hashes of the passwords of links, which the log says then: a key must be one that may
    /// write: a program with the hashes could replace the passwords.
    ///
    /// # Errors
    /// As of [`Accounts::owner`].
    pub async fn reads_secrets(&self, bearer: &str, address: &str) -> Result<(), AccountError> {
        let principal = self.owner(bearer, Access::Change, address).await?;
        self.user(principal).await?;
        Event::SecretsRead.log(Some(principal.user), address);
        Ok(())
    }

    /// The account that a token or a key names; it may be gone since, and the key ended: the operation's own statement
    /// compares.
    ///
    /// # Errors
    /// [`AccountError::Refused`], [`AccountError::Gone`], [`AccountError::NotPermitted`].
    pub async fn owner(
        &self,
        bearer: &str,
        access: Access,
        address: &str,
    ) -> Result<Principal, AccountError> {
        if !bearer.starts_with(api_key::PREFIX) {
            return self.principal_of(bearer);
        }
        let (principal, scope) = api_key::parse(bearer).ok_or(TokenFault::Malformed)?;
        self.note_use(principal).await?;
        if !permits(scope, access) {
            // The operation would have shown whether the key has ended.
            self.user(principal).await?;
            Event::AccessDenied.log(Some(principal.user), address);
            return Err(AccountError::NotPermitted(scope));
        }
        Ok(principal)
    }

    /// The account that a key names, where only keys are known: a log-in token is refused.
    ///
    /// # Errors
    /// As of [`Accounts::owner`].
    pub async fn key_owner(
        &self,
        key: &str,
        access: Access,
        address: &str,
    ) -> Result<Principal, AccountError> {
        if !key.starts_with(api_key::PREFIX) {
            return Err(TokenFault::Malformed.into());
        }
        self.owner(key, access, address).await
    }

    /// Whether a key may read the links of its account.
    #[must_use]
    pub fn may_read(&self, key: &str) -> bool {
        api_key::parse(key).is_some_and(|(_, scope)| permits(scope, Access::Read))
    }
}
