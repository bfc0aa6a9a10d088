//! The database itself: its identity, its connections and its upkeep.

use std::future::pending;

use super::engine::Engine;
use super::sql::{query, query_of_each};
use super::{DiskUsage, HistoryCheck, HistoryNote, Store, StoreError};
use crate::domain::Shard;
use crate::telemetry::metrics::Connections;

/// Up to where rows are counted: a metric must not cost more where there are more.
const MAX_COUNTED: i64 = 100_000;

/// What is stored for the time being, and the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Batches in the journal whose clicks are not in the counts yet, in Postgres only parked batches; 100,000 at most.
    pub journal: u64,
    /// Parts of flushes and batches in Postgres that are not merged; 100,000 at most.
    pub parts: u64,
    /// Flushes of a data set that are not merged, of the one with the most.
    pub unmerged: u64,
    /// Changes of links that are not published yet; 100,000 at most.
    pub outbox: u64,
    /// Size of the database in bytes: without free pages, and with the log, where this process keeps it itself.
    pub bytes: u64,
    /// The files, where this process keeps the database itself.
    pub disk: Option<DiskUsage>,
}

impl Store {
    /// Names this database among all others: drawn at random when it was created, and never changed.
    #[must_use]
    pub fn installation(&self) -> &str {
        match &self.engine {
            Engine::Postgres(store) => &store.installation,
            Engine::Sqlite(store) => &store.installation,
        }
    }

    /// Into how many shards the data sets with this prefix on a Redis Cluster are divided; `None` before the first use.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn redis_shards(&self, prefix: &str) -> Result<Option<u16>, StoreError> {
        let find = query("SELECT shards FROM redis_shards WHERE prefix = $1").bind(prefix);
        let Some(found) = self.engine.read_one(find).await? else {
            return Ok(None);
        };
        let stored: i64 = found.get("shards")?;
        let shards = u16::try_from(stored).ok();
        let shards = shards.filter(|shards| (1..=Shard::MAX_COUNT).contains(shards));
        let invalid = || StoreError::Unexpected(format!("{stored} is an invalid number of shards"));
        shards.map(Some).ok_or_else(invalid)
    }

    /// Notes this number if `former` is noted. `false`: another instance was faster, and nothing changes.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn note_redis_shards(
        &self,
        prefix: &str,
        former: Option<u16>,
        shards: u16,
    ) -> Result<bool, StoreError> {
        let note = query(
            "INSERT INTO redis_shards (prefix, shards)
             SELECT $1, $2 WHERE $3 IS NULL OR EXISTS (SELECT 1 FROM redis_shards WHERE prefix = $1)
             ON CONFLICT (prefix) DO UPDATE SET shards = excluded.shards WHERE redis_shards.shards = $3",
        )
        .bind(prefix)
        .bind(u32::from(shards))
        .bind(former.map(u32::from));
        Ok(self.engine.execute(note).await? == 1)
    }

    /// How many connections are open, in use and waited for.
    #[must_use]
    pub fn connections(&self) -> Connections {
        match &self.engine {
            Engine::Postgres(store) => store.pool.connections(),
            Engine::Sqlite(store) => store.reader.connections(),
        }
    }

    /// What it takes now to write a batch of clicks, as a multiple of what it takes when nothing delays it (see
    /// [`Acknowledgements::delay`]). `None` if no redirect waits for this database, or if other instances write to it, too.
    ///
    /// [`Acknowledgements::delay`]: crate::telemetry::acknowledgements::Acknowledgements::delay
    #[must_use]
    pub fn append_delay(&self) -> Option<f64> {
        match &self.engine {
            Engine::Postgres(_) => None,
            Engine::Sqlite(store) => store.append_delay(),
        }
    }

    /// Whether the database answers. Goes before operations for which no redirect waits: a busy database is not an
    /// absent one.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.engine.read(query("SELECT 1").first()).await.map(drop)
    }

    /// What is stored for the time being, and the disk: for metrics.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn usage(&self) -> Result<Usage, StoreError> {
        let count = query_of_each(
            "SELECT (SELECT count(*) FROM parked_batches) AS journal,
                 (SELECT count(*) FROM (SELECT 1 FROM click_parts LIMIT $1) AS parts) AS parts,
                 (SELECT coalesce(max(flushes), 0) FROM (
                     SELECT count(DISTINCT flush) AS flushes FROM (
                         SELECT epoch, flush FROM click_parts WHERE epoch <> '' LIMIT $1) AS parts GROUP BY epoch) AS of_data_sets) AS unmerged,
                 (SELECT count(*) FROM (SELECT 1 FROM link_changes WHERE published_at IS NULL LIMIT $1) AS changes) AS outbox,
                 pg_database_size(current_database()) AS bytes",
            "SELECT (SELECT count(*) FROM (
                     SELECT 1 FROM click_journal LEFT JOIN click_recorders USING (recorder)
                     WHERE parked OR counted IS NULL OR number > counted LIMIT $1) AS batches) AS journal, 0 AS parts, 0 AS unmerged,
                 (SELECT count(*) FROM (SELECT 1 FROM link_changes LIMIT $1) AS changes) AS outbox,
                 (page_count - freelist_count) * page_size AS bytes
             FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
        );
        let counted = self.engine.read_one(count.bind(MAX_COUNTED)).await?;
        let counted = counted.ok_or_else(|| StoreError::Unexpected("nothing is counted".into()))?;
        let number = |name| counted.get::<i64>(name).map(i64::unsigned_abs);
        let disk = match &self.engine {
            Engine::Postgres(_) => None,
            Engine::Sqlite(store) => store.disk(),
        };
        Ok(Usage {
            bytes: number("bytes")? + disk.map_or(0, |disk| disk.log),
            journal: number("journal")?,
            parts: number("parts")?,
            unmerged: number("unmerged")?,
            outbox: number("outbox")?,
            disk,
        })
    }

    /// Checks whether the database still has all that this instance and `others` have seen. Where it may have gone back, a
    /// new history begins, and no id comes again that was given out before. To be called about once a second. `None`: the
    /// database belongs to this process, and does not change beneath it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn check_history(
        &self,
        others: Option<&HistoryNote>,
    ) -> Result<Option<HistoryCheck>, StoreError> {
        match &self.engine {
            Engine::Postgres(store) => store.check(others).await.map(Some),
            Engine::Sqlite(_) => Ok(None),
        }
    }

    /// Does the upkeep that the database does not do by itself. To be called about once a second, and when
    /// [`Store::maintenance_is_due`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn maintain(&self) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Postgres(_) => Ok(()),
            Engine::Sqlite(store) => store.maintain().await,
        }
    }

    /// Returns when upkeep should not wait for the next second.
    pub async fn maintenance_is_due(&self) {
        match &self.engine {
            Engine::Postgres(_) => pending().await,
            Engine::Sqlite(store) => store.maintenance_is_due().await,
        }
    }

    /// Leaves the database in order for the time in which no process uses it. The last call of all.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn close(&self) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Postgres(_) => Ok(()),
            Engine::Sqlite(store) => store.close().await,
        }
    }
}
