//! The database itself: its identity, its connections and its upkeep.

use std::future::pending;
use std::time::Duration;

use async_trait::async_trait;

use super::migrations::Schema;
use super::{HistoryCheck, HistoryNote, StoreError};
use crate::telemetry::metrics::Connections;

/// How a database is used.
#[derive(Clone, Copy, Debug)]
pub struct StoreSettings {
    /// Connections at once.
    pub max_connections: u32,
    /// With Postgres: how long one operation may take, with the time it waits for a connection. With SQLite: how long an
    /// operation waits for a connection.
    pub deadline: Duration,
    /// Who brings its schema up to date.
    pub schema: Schema,
}

/// Up to where rows are counted: a metric must not cost more where there are more.
pub(super) const MAX_COUNTED: i64 = 100_000;

/// What is stored for the time being, and the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Batches in the journal, parked ones included; 100,000 at most.
    pub journal: u64,
    /// Changes of links that are not published yet; 100,000 at most.
    pub outbox: u64,
    /// Size of the database in bytes: without free pages, and with the log, where this process keeps it itself.
    pub bytes: u64,
    /// The files, where this process keeps the database itself.
    pub disk: Option<DiskUsage>,
}

/// The files of a database, and their disk, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskUsage {
    /// The database file.
    pub database: u64,
    /// Its write-ahead log.
    pub log: u64,
    /// Free on the disk.
    pub free: u64,
    /// Size of the disk.
    pub size: u64,
}

/// What all parts of a store share: the database, its connections and its upkeep.
#[async_trait]
pub trait Database: Send + Sync {
    /// Names this database among all others: drawn at random when it was created, and never changed.
    fn installation(&self) -> &str;

    /// Into how many shards the data sets with this prefix on a Redis Cluster are divided; `None` before the first use.
    async fn redis_shards(&self, prefix: &str) -> Result<Option<u16>, StoreError>;

    /// Notes this number, where `former` is noted. `false`: another instance was faster, and nothing changes.
    async fn note_redis_shards(
        &self,
        prefix: &str,
        former: Option<u16>,
        shards: u16,
    ) -> Result<bool, StoreError>;

    /// How many connections are open, in use and waited for.
    fn connections(&self) -> Connections;

    /// Whether the database answers. Goes before operations for which no redirect waits: a busy database is not an
    /// absent one.
    async fn ping(&self) -> Result<(), StoreError>;

    /// What is stored for the time being, and the disk: for metrics.
    async fn usage(&self) -> Result<Usage, StoreError>;

    /// Checks whether the database still has all that this instance and `others` have seen. Where it may have gone back, a
    /// new history begins, and no id comes again that was given out before. To be called about once a second. `None`: the
    /// database belongs to this process, and does not change beneath it.
    async fn check_history(
        &self,
        _: Option<&HistoryNote>,
    ) -> Result<Option<HistoryCheck>, StoreError> {
        Ok(None)
    }

    /// Does the upkeep that the database does not do by itself. To be called about once a second, and when
    /// [`Database::maintenance_is_due`].
    async fn maintain(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Returns when upkeep should not wait for the next second.
    async fn maintenance_is_due(&self) {
        pending::<()>().await;
    }

    /// Leaves the database in order for the time in which no process uses it. The last call of all.
    async fn close(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
