//! The key that signs statements of months.

use clap::Args;

use super::setting::{Optional, optional};
use crate::domain::StatementKey;

/// The key that signs statements of months.
#[derive(Args, Clone)]
pub struct StatementSettings {
    /// The private key that signs statements of months: Ed25519 in PKCS#8, as PEM or its base64, such as the output of
    /// `openssl genpkey -algorithm ed25519`. With SQLite it may be unset: then it is generated at the first start.
    ///
    /// A generated key is kept in a file beside the database. With Postgres and without a key, no statements are issued. All instances
    /// need the same key. After a change, statements that an earlier key signed stay as they are, and its public key stays published.
    #[arg(
        long,
        env = "STATEMENT_KEY",
        value_name = "KEY",
        hide_env_values = true
    )]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(StatementKey::parse))]
    pub statement_key: Optional<StatementKey>,
}
