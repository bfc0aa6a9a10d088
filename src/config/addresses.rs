//! The addresses of the databases.

use std::path::{Path, PathBuf};

/// The service on this machine, by the default of `BIND`.
pub const LOCAL_URL: &str = "http://127.0.0.1:8000";

/// Where users and links are kept.
#[derive(Clone, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// A file.
    Sqlite(PathBuf),
    /// A server, by URL; the URL may hold a password, so there is no `Debug`.
    Postgres(String),
}

impl DatabaseUrl {
    /// The default file.
    pub(super) const DEFAULT: &str = "sqlite://data/shunt.db";

    /// Whether it is the default: only the default folder is created, so that a first start needs no preparation.
    #[must_use]
    pub fn is_default(&self) -> bool {
        matches!(self, Self::Sqlite(path) if path == Path::new("data/shunt.db"))
    }
}

/// Address of a Redis, or several of a Redis Cluster; may hold passwords, so there is no `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisUrls(pub Vec<String>);
