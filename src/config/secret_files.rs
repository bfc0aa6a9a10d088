//! Secrets that are kept in files, as mounted secrets and systemd's credentials are: each secret setting has one of the same
//! name with `_FILE` at its end.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use super::error::ConfigError;
use super::parse::file;
use super::setting::optional;
use crate::domain::io_reason;

/// Clap would take a field of type `Option` for a flag without a default.
type Optional<T> = Option<T>;

/// Longest file that is read.
const MAX_BYTES: u64 = 64 * 1024;

/// Files that hold secrets, one each, in place of the setting itself.
#[derive(Args, Clone, Debug)]
pub struct SecretFiles {
    /// A file with the value of `DATABASE_URL`. One newline at the end of such a file is dropped.
    #[arg(long, env = "DATABASE_URL_FILE", value_name = "PATH")]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(file))]
    pub database_url_file: Optional<PathBuf>,
    /// A file with the value of `DATABASE_REPLICA_URL`.
    #[arg(long, env = "DATABASE_REPLICA_URL_FILE", value_name = "PATH")]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(file))]
    pub database_replica_url_file: Optional<PathBuf>,
    /// A file with the value of `REDIS_URL`.
    #[arg(long, env = "REDIS_URL_FILE", value_name = "PATH")]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(file))]
    pub redis_url_file: Optional<PathBuf>,
    /// A file with the value of `JWT_SECRET`.
    #[arg(long, env = "JWT_SECRET_FILE", value_name = "PATH")]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(file))]
    pub jwt_secret_file: Optional<PathBuf>,
    /// A file with the value of `JWT_SECRET_PREVIOUS`.
    #[arg(long, env = "JWT_SECRET_PREVIOUS_FILE", value_name = "PATH")]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(file))]
    pub jwt_secret_previous_file: Optional<PathBuf>,
    /// A file with the value of `OIDC_CLIENT_SECRET`.
    #[arg(long, env = "OIDC_CLIENT_SECRET_FILE", value_name = "PATH")]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(file))]
    pub oidc_client_secret_file: Optional<PathBuf>,
    /// A file with the value of `SMTP_URL`.
    #[arg(long, env = "SMTP_URL_FILE", value_name = "PATH")]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(file))]
    pub smtp_url_file: Optional<PathBuf>,
    /// A file with the value of `STATEMENT_KEY`.
    #[arg(long, env = "STATEMENT_KEY_FILE", value_name = "PATH")]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(file))]
    pub statement_key_file: Optional<PathBuf>,
    /// A file with the value of `OTEL_EXPORTER_OTLP_ENDPOINT`.
    #[arg(
        long = "otlp-endpoint-file",
        env = "OTEL_EXPORTER_OTLP_ENDPOINT_FILE",
        value_name = "PATH"
    )]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(file))]
    pub otlp_endpoint_file: Optional<PathBuf>,
}

impl SecretFiles {
    /// The file that holds a setting.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<&Path> {
        let file = match name {
            "DATABASE_URL" => &self.database_url_file,
            "DATABASE_REPLICA_URL" => &self.database_replica_url_file,
            "REDIS_URL" => &self.redis_url_file,
            "JWT_SECRET" => &self.jwt_secret_file,
            "JWT_SECRET_PREVIOUS" => &self.jwt_secret_previous_file,
            "OIDC_CLIENT_SECRET" => &self.oidc_client_secret_file,
            "SMTP_URL" => &self.smtp_url_file,
            "STATEMENT_KEY" => &self.statement_key_file,
            "OTEL_EXPORTER_OTLP_ENDPOINT" => &self.otlp_endpoint_file,
            _ => return None,
        };
        file.as_deref()
    }

    /// Fills a setting from its file.
    pub(super) fn fill<T>(
        &self,
        name: &str,
        setting: &mut Option<T>,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<(), ConfigError> {
        if let Some(value) = self.value(name, setting.is_some(), parse)? {
            *setting = Some(value);
        }
        Ok(())
    }

    /// The value of a setting from its file. If the setting itself is given, too, it is unknown which value is meant.
    pub(super) fn value<T>(
        &self,
        name: &str,
        is_given: bool,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(path) = self.of(name) else {
            return Ok(None);
        };
        let wrong = |fault: String| ConfigError::new(&format!("{name}_FILE"), fault);
        if is_given {
            return Err(wrong(format!("{name} is given, too; unset one of them")));
        }
        let text = secret_in(path).map_err(wrong)?;
        let parsed = parse(&text).map_err(|fault| wrong(format!("{}: {fault}", path.display())));
        parsed.map(Some)
    }
}

/// What a file holds, without a newline at its end; or why it cannot be read.
pub(super) fn secret_in(path: &Path) -> Result<String, String> {
    let text = read(path).map_err(|error| format!("{}: {}", path.display(), io_reason(&error)))?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
}

fn read(path: &Path) -> io::Result<String> {
    if fs::metadata(path)?.len() > MAX_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let text = String::from_utf8(fs::read(path)?);
    text.map_err(|_| io::Error::other("is not UTF-8"))
}
