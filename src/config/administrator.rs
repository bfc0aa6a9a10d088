//! The first administrator.

use std::path::PathBuf;

use clap::Args;

use super::ConfigError;
use super::parse::file;
use super::secret_files::secret_in;
use super::setting::{Optional, optional};
use crate::domain::{EmailAddress, Password};

/// The first administrator.
#[derive(Args, Clone)]
pub struct AdministratorSettings {
    /// An administrator whose account is made at the start unless the address has one. An account that is there stays as
    /// it is: neither its password nor its role changes.
    ///
    /// Needs `ADMIN_PASSWORD_FILE`. `shunt admin create` needs no password.
    #[arg(long, env = "ADMIN_EMAIL", value_name = "EMAIL")]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(email))]
    pub admin_email: Optional<EmailAddress>,
    /// A file with the password of that account. It is read only when the account is made.
    #[arg(long, env = "ADMIN_PASSWORD_FILE", value_name = "PATH")]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(file))]
    pub admin_password_file: Optional<PathBuf>,
}

fn email(raw: &str) -> Result<EmailAddress, String> {
    EmailAddress::parse(raw.to_owned())
        .map_err(|_| format!("`{raw}` is not an e-mail address; give one such as ada@example.org"))
}

impl AdministratorSettings {
    /// The password of the account that is to be made.
    ///
    /// # Errors
    /// When the file cannot be read, or holds no password.
    pub fn password(&self) -> Result<Password, ConfigError> {
        let wrong = |fault: String| ConfigError::new("ADMIN_PASSWORD_FILE", fault);
        let path = self.admin_password_file.as_deref();
        let path = path.ok_or_else(|| wrong("is not set".to_owned()))?;
        let parsed = Password::parse(secret_in(path).map_err(wrong)?);
        parsed.map_err(|error| wrong(format!("{}: the password {error}", path.display())))
    }

    /// Refuses half of the settings.
    pub(super) fn agree(&self) -> Result<(), ConfigError> {
        match (&self.admin_email, &self.admin_password_file) {
            (Some(_), None) => Err(ConfigError::new(
                "ADMIN_EMAIL",
                "the account needs a password; set ADMIN_PASSWORD_FILE, too, or use `shunt admin create`",
            )),
            (None, Some(_)) => Err(ConfigError::new(
                "ADMIN_PASSWORD_FILE",
                "is the password of no account; set ADMIN_EMAIL, too",
            )),
            _ => Ok(()),
        }
    }
}
