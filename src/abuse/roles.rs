//! Roles, passwords and e-mail addresses of accounts, given and taken by administrators and by the operator.

use super::{Abuse, AbuseError, Administrator};
use crate::domain::{EmailAddress, TokenKey, UserId};
use crate::store::{EmailSet, RoleTaken};

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

    /// Gives an account another e-mail address; all its tokens are revoked, as it logs in by another name. Nothing confirms the
    /// address: who asks is the administrator's to find out.
    ///
    /// # Errors
    /// [`AbuseError::HasAccount`], [`AbuseError::Banned`], [`AbuseError::Store`].
    pub async fn set_email(
        &self,
        by: &Administrator,
        user: UserId,
        email: &EmailAddress,
        key: TokenKey,
    ) -> Result<(), AbuseError> {
        let now = self.clock.now();
        let set = self.store.set_email(user, email, key, by.actor(), now);
        match set.await? {
            EmailSet::Done => {
                by.log(&format!("set the e-mail address of user {}", user.0));
                Ok(())
            }
            EmailSet::Taken => Err(AbuseError::HasAccount),
            EmailSet::NotInUse => Err(AbuseError::Banned),
        }
    }
}
