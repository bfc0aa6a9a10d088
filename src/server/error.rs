//! Why the service did not start, or did not stop well.

use std::io;

use crate::abuse::BlocklistError;
use crate::accounts::{AccountError, HasherError, SecretError, WeakPassword};
use crate::analytics::CountriesError;
use crate::config::ConfigError;
use crate::domain::io_reason;
use crate::http_client::NoRootCertificates;
use crate::mail::MailerError;
use crate::server::bound_socket::BindError;
use crate::server::parked::ParkedError;
use crate::server::startup::ConnectError;
use crate::shared_redis::InvalidRedisUrl;

/// Why the service did not start, or did not stop well.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// An address cannot be listened on.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// Input or output failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The listener's address makes no base address.
    #[error("BASE_URL: {0}")]
    BaseUrl(String),
    /// A setting of the file of settings is wrong.
    #[error(transparent)]
    Settings(#[from] ConfigError),
    /// Postgres without a secret.
    #[error(
        "JWT_SECRET: is not set; with Postgres give at least 32 bytes, such as the output of `openssl rand -hex 32`"
    )]
    NoSecret,
    /// The secret beside the database cannot be used.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The key of statements beside the database cannot be read or created.
    #[error("STATEMENT_KEY: {0}: {why}; let it be read and made, or set STATEMENT_KEY", why = io_reason(.1))]
    StatementKeyFile(String, io::Error),
    /// It is no key.
    #[error("STATEMENT_KEY: {0} {1}")]
    StatementKey(String, String),
    /// The file of more common passwords cannot be read.
    #[error("COMMON_PASSWORDS: {0}: {1}; let it be read, or unset it")]
    CommonPasswords(String, io::Error),
    /// The file of countries cannot be used.
    #[error("GEOIP_DATABASE: {0}: {1}; give a file such as GeoLite2-Country.mmdb, or unset it")]
    Countries(String, CountriesError),
    /// The blocklist cannot be read.
    #[error("BLOCKLIST: {0}: {1}; mend it, or unset BLOCKLIST")]
    Blocklist(String, BlocklistError),
    /// The setting names no Redis.
    #[error(transparent)]
    Redis(#[from] InvalidRedisUrl),
    /// A dependency is not there, or refuses.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// Counts would lack clicks.
    #[error(transparent)]
    Parked(#[from] ParkedError),
    /// The password of the first administrator is easily guessed.
    #[error("ADMIN_PASSWORD_FILE: the password {0}; choose another one")]
    WeakPassword(WeakPassword),
    /// The first administrator could not be made.
    #[error("ADMIN_EMAIL: {0}")]
    Administrator(#[from] AccountError),
    /// The identity provider cannot be asked over TLS.
    #[error("OIDC_ISSUER: {0}")]
    NoRootCertificates(#[from] NoRootCertificates),
    /// No mail can be sent.
    #[error("SMTP_URL: {0}")]
    Mail(#[from] MailerError),
    /// Passwords cannot be hashed.
    #[error(transparent)]
    Hasher(#[from] HasherError),
    /// A part of the service died: a defect.
    #[error("a part of the service died: {0}")]
    Died(String),
    /// Not everything was done in time.
    #[error("the stop took longer than SHUTDOWN_TIMEOUT_SECONDS allows: {0}")]
    Late(String),
}
