//! Where the databases are.

use std::path::PathBuf;

/// Where users and links are kept.
#[derive(Clone, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// A file.
    Sqlite(PathBuf),
    /// A server, by URL; the URL may hold a password, so there is no `Debug`.
    Postgres(String),
}

/// Address of a Redis, or several of a Redis Cluster; may hold passwords, so there is no `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisUrls(pub Vec<String>);
