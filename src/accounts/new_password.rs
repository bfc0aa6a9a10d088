//! A password that the service makes up, for an account whose owner has forgotten the own one.

use super::{AccountError, Accounts, Client, new_key, random_text};
use crate::domain::{Password, TokenKey};

/// A password that no account has yet.
pub struct NewPassword {
    /// The password itself: 192 random bits.
    pub text: String,
    /// Its hash.
    pub hash: String,
    /// The key of the account's next tokens.
    pub key: TokenKey,
}

impl Accounts {
    /// Makes up a password.
    ///
    /// # Errors
    /// [`AccountError::Hash`], [`AccountError::NoKey`].
    pub async fn new_password(&self, client: &Client) -> Result<NewPassword, AccountError> {
        let text = random_text().map_err(|error| AccountError::NoKey(error.to_string()))?;
        let password = Password::parse(text.clone());
        let password = password.map_err(|error| AccountError::NoKey(error.to_string()))?;
        let hash = self.hasher.permit(client).await?.hash(password).await?;
        Ok(NewPassword {
            text,
            hash,
            key: new_key()?,
        })
    }
}
