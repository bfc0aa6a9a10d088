//! The ledger in Postgres.

use async_trait::async_trait;

use super::PostgresStore;
use super::clicks::columns;
use super::session::Session;
use crate::domain::{LinkId, Timestamp};
use crate::store::click_rows::{self, DataSetRow};
use crate::store::ledger::{DRAIN_MICROS, RETENTION_MICROS};
use crate::store::rows;
use crate::store::{ClickDetails, DataSet, FlushId, FlushMark, Ledger, Raise, StoreError};

/// A statement whose result is a [`DataSetRow`].
macro_rules! returning {
    ($statement:literal) => {
        concat!(
            $statement,
            " RETURNING tag, epoch, term, replication_id, flush"
        )
    };
}

#[async_trait]
impl Ledger for PostgresStore {
    async fn data_sets_in_use(&self) -> Result<Vec<DataSet>, StoreError> {
        let found: Vec<DataSetRow> = self
            .pool
            .run_with_priority(async |session| {
                sqlx::query_as(
                    "SELECT DISTINCT ON (tag) tag, epoch, term, replication_id, flush
                     FROM data_sets ORDER BY tag, term DESC",
                )
                .fetch_all(session)
                .await
            })
            .await?;
        Ok(found.into_iter().map(click_rows::data_set).collect())
    }

    async fn is_flush_under_way(&self) -> Result<bool, StoreError> {
        let under_way = self
            .pool
            .run(async |session| {
                sqlx::query_scalar(
                    "SELECT coalesce(bool_or(up_to > 0 AND up_to < 9223372036854775807), false)
                     FROM (SELECT DISTINCT ON (tag) up_to FROM data_sets ORDER BY tag, term DESC) AS in_use",
                )
                .fetch_one(session)
                .await
            })
            .await?;
        Ok(under_way)
    }

    async fn data_set(&self, epoch: &str) -> Result<Option<DataSet>, StoreError> {
        let found: Option<DataSetRow> = self
            .pool
            .run(async |session| {
                sqlx::query_as(
                    "SELECT tag, epoch, term, replication_id, flush FROM data_sets WHERE epoch = $1",
                )
                .bind(epoch)
                .fetch_optional(session)
                .await
            })
            .await?;
        Ok(found.map(click_rows::data_set))
    }

    async fn raise(&self, raise: Raise<'_>, epoch: &str) -> Result<Option<DataSet>, StoreError> {
        let raised = self.pool.transaction(async |session| {
            let Some(term) = replace(session, raise, epoch).await? else {
                return Ok(None);
            };
            // The row is locked while a part of a flush is being written: this waits for it.
            let raised = sqlx::query_as(returning!(
                "INSERT INTO data_sets (epoch, tag, term, replication_id) VALUES ($1, $2, $3, $4)
                 ON CONFLICT (epoch) DO UPDATE
                 SET tag = excluded.tag, term = excluded.term, replication_id = excluded.replication_id, drains_until = NULL"
            ))
            .bind(epoch)
            .bind(raise.tag)
            .bind(term)
            .bind(raise.replication_id)
            .fetch_all(session)
            .await?;
            Ok(rows::written(raised))
        });
        Ok(raised.await?.map(click_rows::data_set))
    }

    async fn begin(
        &self,
        raise: Raise<'_>,
        epoch_prefix: &str,
    ) -> Result<Option<DataSet>, StoreError> {
        let began = self.pool.transaction(async |session| {
            let Some(term) = replace(session, raise, "").await? else {
                return Ok(None);
            };
            sqlx::query("DELETE FROM data_sets WHERE drains_until < now_micros() - $1")
                .bind(RETENTION_MICROS)
                .execute(&mut *session)
                .await?;
            let began = sqlx::query_as(returning!(
                "INSERT INTO data_sets (epoch, tag, term, replication_id) VALUES ($1, $2, $3, $4)"
            ))
            .bind(format!("{epoch_prefix}{term}"))
            .bind(raise.tag)
            .bind(term)
            .bind(raise.replication_id)
            .fetch_all(session)
            .await?;
            Ok(rows::written(began))
        });
        Ok(began.await?.map(click_rows::data_set))
    }

    async fn keep_draining(&self, epoch: &str) -> Result<(), StoreError> {
        self.pool
            .run(async |session| {
                sqlx::query(
                    "UPDATE data_sets SET drains_until = now_micros() + $2
                     WHERE epoch = $1 AND drains_until IS NOT NULL",
                )
                .bind(epoch)
                .bind(DRAIN_MICROS)
                .execute(session)
                .await
            })
            .await?;
        Ok(())
    }

    async fn apply_flush(
        &self,
        flush: &FlushId,
        from: FlushMark,
        part: &[(LinkId, u64)],
        details: &ClickDetails,
        up_to: FlushMark,
    ) -> Result<FlushMark, StoreError> {
        let (links, clicks) = columns(part);
        // The ledger's row is locked first: another writer of the same part waits, and then finds it written. An
        // asynchronous commit is lost in a crash only together with all later ones. So the last part, whose commit is
        // synchronous, makes all parts durable.
        let written: Option<i64> = self.pool.run(async |session| sqlx::query_scalar(
            "WITH noted AS (
                 UPDATE data_sets SET flush = $3, up_to = $5, flush_name = $10 WHERE epoch = $1 AND term = $2
                 AND (flush = $3 AND up_to = $4 AND flush_name = $10 OR flush < $3 AND $4 = 0)
                 RETURNING up_to
             ),
             queued AS (
                 INSERT INTO click_detail_queue (interval, details) SELECT $9, $11 FROM noted WHERE $11::bytea IS NOT NULL
             )
             SELECT up_to, count_clicks($6, $7, $9), CASE WHEN $8 THEN set_config('synchronous_commit', 'off', true) END
             FROM noted",
        )
        .bind(&flush.epoch)
        .bind(flush.term)
        .bind(flush.number)
        .bind(click_rows::stored_mark(from))
        .bind(click_rows::stored_mark(up_to))
        .bind(links)
        .bind(clicks)
        .bind(up_to != FlushMark::Whole)
        .bind(flush.interval.number())
        .bind(&flush.name)
        .bind(click_rows::packed(details))
        .fetch_optional(session).await).await?;
        match written {
            Some(up_to) => Ok(click_rows::flush_mark(up_to)),
            None => self.flush_mark(flush).await,
        }
    }

    async fn flush_mark(&self, flush: &FlushId) -> Result<FlushMark, StoreError> {
        let mark: Option<i64> = self
            .pool
            .run(async |session| {
                sqlx::query_scalar(
                    "SELECT CASE WHEN flush < $3 THEN 0 WHEN flush > $3 THEN -1 WHEN flush_name = $4 THEN up_to ELSE -2 END
                     FROM data_sets WHERE epoch = $1 AND term = $2",
                )
                .bind(&flush.epoch)
                .bind(flush.term)
                .bind(flush.number)
                .bind(&flush.name)
                .fetch_optional(session)
                .await
            })
            .await?;
        Ok(mark.map_or(FlushMark::Superseded, click_rows::flush_mark))
    }

    async fn moment_before_flush(&self) -> Result<Option<Timestamp>, StoreError> {
        // A batch that was parked before the statement began is seen by it.
        let read = async |session: &mut Session| {
            sqlx::query_scalar(
                "SELECT now_micros() WHERE NOT EXISTS (SELECT FROM click_journal WHERE parked)",
            )
            .fetch_optional(session)
            .await
        };
        let micros: Option<i64> = self.pool.run(read).await?;
        Ok(micros.and_then(Timestamp::from_micros))
    }

    async fn note_written_back(
        &self,
        epoch: &str,
        term: i64,
        up_to: Timestamp,
    ) -> Result<(), StoreError> {
        // Nothing waits for the disk: what a crash takes is noted again with the next flush.
        let note = async |session: &mut Session| {
            sqlx::query(
                "WITH noted AS (
                     UPDATE data_sets SET written_up_to = $3 WHERE epoch = $1 AND term = $2 RETURNING 1
                 )
                 SELECT set_config('synchronous_commit', 'off', true) FROM noted",
            )
            .bind(epoch)
            .bind(term)
            .bind(up_to.micros())
            .fetch_all(session)
            .await
        };
        self.pool.run(note).await?;
        Ok(())
    }

    async fn written_back_up_to(&self, tags: &[&str]) -> Result<Option<Timestamp>, StoreError> {
        let read = async |session: &mut Session| {
            sqlx::query_scalar(
                "SELECT min(coalesce(written_up_to, began_at)) FROM data_sets AS kept WHERE tag = ANY ($1) AND (drains_until > now_micros()
                     OR term = (SELECT max(term) FROM data_sets WHERE tag = kept.tag))",
            )
            .bind(tags)
            .fetch_one(session)
            .await
        };
        let micros: Option<i64> = self.pool.run(read).await?;
        Ok(micros.and_then(Timestamp::from_micros))
    }
}

/// The next term, if the newest one of the tag is the one that was read. Then a data set of another epoch that is in use
/// has been replaced; where that is on another server, its clicks may still be written back from there.
async fn replace(
    session: &mut Session,
    raise: Raise<'_>,
    epoch: &str,
) -> Result<Option<i64>, sqlx::Error> {
    // A row of its own: where a tag is new, there is nothing else to lock.
    for lock in [
        "INSERT INTO locks (name) VALUES ($1) ON CONFLICT DO NOTHING",
        "SELECT FROM locks WHERE name = $1 FOR UPDATE",
    ] {
        sqlx::query(lock)
            .bind(raise.tag)
            .execute(&mut *session)
            .await?;
    }
    let newest: Option<i64> = sqlx::query_scalar("SELECT max(term) FROM data_sets WHERE tag = $1")
        .bind(raise.tag)
        .fetch_one(&mut *session)
        .await?;
    if newest.unwrap_or_default() != raise.from {
        return Ok(None);
    }
    sqlx::query(
        "UPDATE data_sets SET drains_until = now_micros() + CASE WHEN replication_id = $3 THEN 0 ELSE $4 END
         WHERE term = $1 AND epoch <> $2",
    )
    .bind(raise.from)
    .bind(epoch)
    .bind(raise.replication_id)
    .bind(DRAIN_MICROS)
    .execute(&mut *session)
    .await?;
    let term = sqlx::query_scalar(
        "SELECT CASE WHEN next > $1 THEN next ELSE setval('terms', $1 + 1) END FROM nextval('terms') AS next",
    )
    .bind(raise.above)
    .fetch_one(session)
    .await?;
    Ok(Some(term))
}
