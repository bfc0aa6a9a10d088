//! Where the databases are.

use std::path::PathBuf;

use crate::domain::Shard;

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

impl RedisUrls {
    /// Into how many shards the data set is divided.
    #[must_use]
    pub fn shards(&self) -> u8 {
        if self.0.len() > 1 {
            Shard::IN_CLUSTER
        } else {
            1
        }
    }
}
