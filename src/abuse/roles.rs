//! Roles and passwords of accounts, given and taken by administrators and by the operator.

use super::{Abuse, AbuseError, Administrator};
use crate::domain::{TokenKey, UserId};
use crate::store::RoleTaken;

impl Abuse {
    /// Gives an account the role of an administrator.
    ///
    /// # Errors
    /// [`AbuseError::Banned`], [`AbuseError::Store`].
    pub async fn set_role(&self, by: &Administrator, user: UserId) -> Result<(), AbuseError> {
        let is_set = self.store.set_role(user, by.actor(), self.clock.now());
        if !is_set.await? {
            return Err(AbuseError::Banned);
        }
        by.log(&format!("grant user {}", user.0));
        Ok(())
    }

    /// Takes the role of an administrator from an account.
    ///
    /// # Errors
    /// [`AbuseError::Unknown`] if it does not have it; [`AbuseError::LastAdministrator`], [`AbuseError::Store`].
    pub async fn take_role(&self, by: &Administrator, user: UserId) -> Result<(), AbuseError> {
        let taken = self.store.take_role(user, by.actor(), self.clock.now());
        match taken.await? {
            RoleTaken::Done => {
                by.log(&format!("revoke the role of user {}", user.0));
                Ok(())
            }
            RoleTaken::NoAdmin => Err(AbuseError::Unknown),
            RoleTaken::Last => Err(AbuseError::LastAdministrator),
        }
    }

    /// Takes all factors beside the password from an account whose owner has lost them; all its tokens are revoked.
    ///
    /// # Errors
    /// [`AbuseError::NoFactor`], [`AbuseError::Store`].
    pub async fn reset_factors(
        &self,
        by: &Administrator,
        user: UserId,
        key: TokenKey,
    ) -> Result<(), AbuseError> {
        let now = self.clock.now();
        if !self.store.reset_factors(user, key, by.actor(), now).await? {
            return Err(AbuseError::NoFactor);
        }
        by.log(&format!("remove the second factors of user {}", user.0));
        Ok(())
    }

    /// Gives an account a new password, by its hash; all its tokens are revoked.
    ///
    /// # Errors
    /// [`AbuseError::Banned`], [`AbuseError::Store`].
    pub async fn reset_password(
        &self,
        by: &Administrator,
        user: UserId,
        hash: &str,
        key: TokenKey,
    ) -> Result<(), AbuseError> {
        let now = self.clock.now();
        let reset = self.store.reset_password(user, hash, key, by.actor(), now);
        if !reset.await? {
            return Err(AbuseError::Banned);
        }
        by.log(&format!("reset the password of user {}", user.0));
        Ok(())
    }
}
