//! The ledger: the data sets of Redis, the term of each, and how far their flushes are written back.

use super::connection::Connection;
use super::sql::{Row, query, query_of_each};
use super::{ClickDetails, Engine, FlushId, FlushMark, LinkClicks, Store, StoreError};
use crate::domain::Timestamp;

/// How long, in microseconds, a data set that another one replaced is drained at first; those that still drain it prolong this.
const DRAIN_MICROS: i64 = 5_000_000;

/// How many flushes of a data set may wait to be merged in Postgres: a reading of counts looks through their parts.
pub(super) const MAX_UNMERGED: i64 = 8;

/// How long, in microseconds, the ledger keeps a data set after that.
const RETENTION_MICROS: i64 = 7 * 86_400_000_000;

/// A row of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataSet {
    /// What its keys begin with.
    pub tag: String,
    /// Names its lifetime.
    pub epoch: String,
    /// The newest term under which it was taken into use; never the same for two data sets.
    pub term: i64,
    /// The replication ID of the server that the term is for.
    pub replication_id: String,
    /// Its newest flush of which anything is written back; 0 before the first.
    pub flush: i64,
}

/// Why a server gets a term.
#[derive(Clone, Copy, Debug)]
pub struct Raise<'a> {
    /// The data set's keys begin with this.
    pub tag: &'a str,
    /// The newest term of this tag that was read; 0 if there was none.
    pub from: i64,
    /// The new term is above this one, too: that of Redis, which is higher where the database was restored from a backup.
    pub above: i64,
    /// The server's replication ID.
    pub replication_id: &'a str,
}

/// The ledger. Of the data sets with one tag, that with the highest term is in use.
impl Store {
    /// The data set in use, of every tag.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn data_sets_in_use(&self) -> Result<Vec<DataSet>, StoreError> {
        let find = query(
            "SELECT tag, epoch, term, replication_id, flush FROM data_sets AS newest
             WHERE term = (SELECT max(term) FROM data_sets WHERE tag = newest.tag) ORDER BY tag",
        );
        let found = self.engine.read(find.first()).await?;
        found.iter().map(data_set).collect()
    }

    /// The data set of an epoch; `None` for one that is not known, or was replaced a week ago.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn data_set(&self, epoch: &str) -> Result<Option<DataSet>, StoreError> {
        let find =
            query("SELECT tag, epoch, term, replication_id, flush FROM data_sets WHERE epoch = $1");
        let found = self.engine.read_one(find.bind(epoch)).await?;
        found.as_ref().map(data_set).transpose()
    }

    /// Gives a data set a new term, higher than all others, and so the place of the one in use. Waits for flushes that are
    /// being written; from then on they are refused under the former term. An epoch that is not known becomes known. `None`,
    /// and nothing changes, where the newest term is another one than was read.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn raise_term(
        &self,
        raise: Raise<'_>,
        epoch: &str,
    ) -> Result<Option<DataSet>, StoreError> {
        let transaction = self.engine.transaction(async |connection| {
            let Some(term) = self.replace(connection, raise, epoch).await? else {
                return Ok(None);
            };
            // In Postgres the row is locked while a part of a flush is being written: this waits for it.
            self.put(connection, raise, term, epoch).await.map(Some)
        });
        transaction.await
    }

    /// The same for a data set that begins: its epoch is `epoch_prefix` and its term.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn begin_data_set(
        &self,
        raise: Raise<'_>,
        epoch_prefix: &str,
    ) -> Result<Option<DataSet>, StoreError> {
        let transaction = self.engine.transaction(async |connection| {
            let Some(term) = self.replace(connection, raise, "").await? else {
                return Ok(None);
            };
            let forget = query("DELETE FROM data_sets WHERE drains_until < now_micros() - $1");
            let forget = forget.bind(RETENTION_MICROS);
            connection.execute(self.engine.by_its_clock(forget)).await?;
            let epoch = format!("{epoch_prefix}{term}");
            self.put(connection, raise, term, &epoch).await.map(Some)
        });
        transaction.await
    }

    /// The next term, if the newest one of the tag is the one that was read. Then a data set of another epoch that is in use
    /// has been replaced; where that is on another server, its clicks may still be written back from there.
    async fn replace(
        &self,
        connection: &mut Connection<'_>,
        raise: Raise<'_>,
        epoch: &str,
    ) -> Result<Option<i64>, StoreError> {
        // A row of its own: where a tag is new, there is nothing else to lock.
        let lock = query(
            "INSERT INTO locks (name) VALUES ($1) ON CONFLICT (name) DO UPDATE SET name = excluded.name",
        );
        connection.lock(lock.bind(raise.tag)).await?;
        let newest = query("SELECT coalesce(max(term), 0) AS newest FROM data_sets WHERE tag = $1");
        let newest = connection.one(newest.bind(raise.tag)).await?;
        if newest.get::<i64>("newest")? != raise.from {
            return Ok(None);
        }
        let drain = query(
            "UPDATE data_sets SET drains_until = now_micros() + CASE WHEN replication_id = $3 THEN 0 ELSE $4 END
             WHERE term = $1 AND epoch <> $2",
        )
        .bind(raise.from)
        .bind(epoch)
        .bind(raise.replication_id)
        .bind(DRAIN_MICROS);
        connection.execute(self.engine.by_its_clock(drain)).await?;
        // In Postgres, data sets of several tags get their terms at the same time.
        let next = query_of_each(
            "SELECT CASE WHEN next > $1 THEN next ELSE setval('terms', $1 + 1) END AS term FROM nextval('terms') AS next",
            "SELECT max(coalesce(max(term), 0), $1) + 1 AS term FROM data_sets",
        );
        let next = connection.one(next.bind(raise.above)).await?;
        next.get("term").map(Some)
    }

    /// Makes the data set of this epoch the one in use.
    async fn put(
        &self,
        connection: &mut Connection<'_>,
        raise: Raise<'_>,
        term: i64,
        epoch: &str,
    ) -> Result<DataSet, StoreError> {
        let put = query(
            "INSERT INTO data_sets (epoch, tag, term, replication_id, began_at) VALUES ($1, $2, $3, $4, now_micros())
             ON CONFLICT (epoch) DO UPDATE
             SET tag = excluded.tag, term = excluded.term, replication_id = excluded.replication_id, drains_until = NULL
             RETURNING tag, epoch, term, replication_id, flush",
        )
        .bind(epoch)
        .bind(raise.tag)
        .bind(term)
        .bind(raise.replication_id);
        data_set(&connection.one(self.engine.by_its_clock(put)).await?)
    }

    /// Notes that a data set which was replaced has clicks to write back: [`CountSnapshot::is_draining`] for some seconds.
    ///
    /// # Errors
    /// [`StoreError`].
    ///
    /// [`CountSnapshot::is_draining`]: super::CountSnapshot::is_draining
    pub async fn keep_draining(&self, epoch: &str) -> Result<(), StoreError> {
        let keep = query(
            "UPDATE data_sets SET drains_until = now_micros() + $2
             WHERE epoch = $1 AND drains_until IS NOT NULL",
        );
        let keep = keep.bind(epoch).bind(DRAIN_MICROS);
        let keep = self.engine.by_its_clock(keep);
        self.engine.execute(keep).await.map(drop)
    }

    /// Writes a part of a flush, and notes in the ledger that the flush is written back up to `up_to`, in one
    /// transaction. It does so only if the ledger says that the flush is written back up to `from` ([`FlushMark::Nothing`] if the
    /// ledger knows neither the flush nor a later flush of its epoch), and if the term is still the term of its data set. Otherwise
    /// nothing changes: another instance was faster, the database crashed and lost what was not durable yet, or too many flushes are to
    /// be merged first. Returns how far the flush is written back now: `up_to`, or the mark to go on from, or
    /// [`FlushMark::Superseded`], or [`FlushMark::OfAnother`]; `from`, if the flush has to wait.
    ///
    /// `part` has the links above `from` up to `up_to`, in rising order of ids; deleted links are passed over. `details` are the
    /// classes of these clicks, as far as they are noted. Only the last part, with [`FlushMark::Whole`], is durable when this
    /// returns, and with it all earlier parts.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn apply_flush(
        &self,
        flush: &FlushId,
        from: FlushMark,
        part: &[LinkClicks],
        details: &ClickDetails,
        up_to: FlushMark,
    ) -> Result<FlushMark, StoreError> {
        let applying = self.clicks.apply_part(flush, from, part, details, up_to);
        if applying.await? {
            return Ok(up_to);
        }
        self.flush_mark(flush).await
    }

    /// Makes the parts of a flush up to a mark durable, if the ledger still has this mark in the term of the flush. Returns whether it
    /// has.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn make_durable(&self, flush: &FlushId, mark: FlushMark) -> Result<bool, StoreError> {
        // In Postgres a commit that waits for the disk makes all earlier ones durable.
        let touch = query(
            "UPDATE data_sets SET up_to = up_to
             WHERE epoch = $1 AND term = $2 AND flush = $3 AND flush_name = $4 AND up_to = $5",
        )
        .bind(flush.epoch.as_str())
        .bind(flush.term)
        .bind(flush.number)
        .bind(flush.name.as_str())
        .bind(mark.stored());
        Ok(self.engine.execute(touch).await? > 0)
    }

    /// Whether a flush may be written: it is under way, or few enough flushes of its data set are to be merged first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn has_room_for(&self, flush: &FlushId) -> Result<bool, StoreError> {
        let Engine::Postgres(_) = &self.engine else {
            return Ok(true);
        };
        if self.flush_mark(flush).await? != FlushMark::Nothing {
            return Ok(true);
        }
        let count = query("SELECT unmerged_flushes($1) AS flushes").bind(flush.epoch.as_str());
        let counted = self.engine.read_one(count).await?;
        let flushes: Option<i64> = counted.map(|row| row.get("flushes")).transpose()?;
        Ok(flushes.is_none_or(|flushes| flushes < MAX_UNMERGED))
    }

    /// How far a flush is written back.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn flush_mark(&self, flush: &FlushId) -> Result<FlushMark, StoreError> {
        let find = query(
            "SELECT CASE WHEN flush < $3 THEN 0 WHEN flush > $3 THEN -1 WHEN flush_name = $4 THEN up_to ELSE -2 END AS mark
             FROM data_sets WHERE epoch = $1 AND term = $2",
        )
        .bind(flush.epoch.as_str())
        .bind(flush.term)
        .bind(flush.number)
        .bind(flush.name.as_str());
        let Some(found) = self.engine.read_one(find).await? else {
            return Ok(FlushMark::Superseded);
        };
        found.get("mark").map(FlushMark::from_stored)
    }

    /// The time by the clock of the database, before a flush begins; `None` while batches are parked, which were answered before and
    /// may come to Redis later.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn moment_before_flush(&self) -> Result<Option<Timestamp>, StoreError> {
        // A batch that was parked before the statement began is seen by it.
        let read =
            query("SELECT now_micros() AS moment WHERE NOT EXISTS (SELECT 1 FROM parked_batches)");
        let read = self.engine.by_its_clock(read);
        let found = self.engine.read_one(read).await?;
        found.map(|found| found.get("moment")).transpose()
    }

    /// Notes such a moment, up to which all clicks that a data set was given are written back, where it is still in this term. After a
    /// crash of the database it may be an earlier one.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn note_written_back(
        &self,
        epoch: &str,
        term: i64,
        up_to: Timestamp,
    ) -> Result<(), StoreError> {
        // In Postgres nothing waits for the disk: what a crash takes is noted again with the next flush.
        let note = query_of_each(
            "WITH noted AS (
                 UPDATE data_sets SET written_up_to = $3 WHERE epoch = $1 AND term = $2 RETURNING 1
             )
             SELECT set_config('synchronous_commit', 'off', true) FROM noted",
            "UPDATE data_sets SET written_up_to = $3 WHERE epoch = $1 AND term = $2",
        );
        let note = note.bind(epoch).bind(term).bind(up_to);
        self.engine.write(note).await.map(drop)
    }

    /// The moment up to which all clicks are written back that Redis was given: the earliest of those of the data sets with
    /// these tags that are in use, or that may still have clicks to write back. It is that of a data set's beginning where no
    /// later one is noted; `None` if there is no such data set.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn written_back_up_to(&self, tags: &[&str]) -> Result<Option<Timestamp>, StoreError> {
        let read = query(
            "SELECT min(coalesce(written_up_to, began_at)) AS up_to FROM data_sets AS kept
             WHERE tag IN (SELECT value FROM json_each($1)) AND (drains_until > now_micros()
                 OR term = (SELECT max(term) FROM data_sets WHERE tag = kept.tag))",
        );
        let read = read.bind(serde_json::Value::from(tags).to_string());
        let read = self.engine.by_its_clock(read);
        let found = self.engine.read_one(read).await?;
        found.map_or(Ok(None), |found| found.get("up_to"))
    }
}

fn data_set(row: &Row) -> Result<DataSet, StoreError> {
    Ok(DataSet {
        tag: row.get("tag")?,
        epoch: row.get("epoch")?,
        term: row.get("term")?,
        replication_id: row.get("replication_id")?,
        flush: row.get("flush")?,
    })
}
