//! The administrator whom the settings name: made at the start, if the address has no account.

use crate::accounts::{AccountError, Accounts};
use crate::config::AdministratorSettings;
use crate::server::error::ServeError;

/// Makes the account, unless there is one: that one stays as it is, and the file of the password is not read.
pub(super) async fn ensure(
    accounts: &Accounts,
    settings: &AdministratorSettings,
) -> Result<(), ServeError> {
    let Some(email) = &settings.admin_email else {
        return Ok(());
    };
    if accounts.is_registered(email).await? {
        return Ok(());
    }
    match accounts
        .create_administrator(email, settings.password()?)
        .await
    {
        Ok(user) => {
            tracing::info!(
                user = user.0,
                "the account of ADMIN_EMAIL is made, and administers the service"
            );
            Ok(())
        }
        // Another instance was faster.
        Err(AccountError::EmailTaken) => Ok(()),
        Err(AccountError::Weak(why)) => Err(ServeError::WeakPassword(why)),
        Err(error) => Err(error.into()),
    }
}
