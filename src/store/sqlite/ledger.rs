//! The ledger in SQLite.

use async_trait::async_trait;
use sqlx::{SqliteConnection, SqliteExecutor};

use super::SqliteStore;
use super::counted::{count_clicks, queue_details};
use crate::domain::{LinkId, Timestamp};
use crate::store::click_rows::{self, DataSetRow};
use crate::store::ledger::{RETENTION_MICROS, drains_until};
use crate::store::rows;
use crate::store::{ClickDetails, DataSet, FlushId, FlushMark, Ledger, Raise, StoreError};

#[async_trait]
impl Ledger for SqliteStore {
    async fn data_sets_in_use(&self) -> Result<Vec<DataSet>, StoreError> {
        let found: Vec<DataSetRow> = sqlx::query_as(
            "SELECT tag, epoch, term, replication_id, flush FROM data_sets AS newest
             WHERE term = (SELECT max(term) FROM data_sets WHERE tag = newest.tag)",
        )
        .fetch_all(&mut *self.reader.get().await?)
        .await?;
        Ok(found.into_iter().map(click_rows::data_set).collect())
    }

    async fn is_flush_under_way(&self) -> Result<bool, StoreError> {
        let under_way = sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM data_sets AS newest WHERE up_to > 0 AND up_to < 9223372036854775807
             AND term = (SELECT max(term) FROM data_sets WHERE tag = newest.tag))",
        )
        .fetch_one(&mut *self.reader.get().await?)
        .await?;
        Ok(under_way)
    }

    async fn data_set(&self, epoch: &str) -> Result<Option<DataSet>, StoreError> {
        let found: Option<DataSetRow> = sqlx::query_as(
            "SELECT tag, epoch, term, replication_id, flush FROM data_sets WHERE epoch = ?1",
        )
        .bind(epoch)
        .fetch_optional(&mut *self.reader.get().await?)
        .await?;
        Ok(found.map(click_rows::data_set))
    }

    async fn raise(&self, raise: Raise<'_>, epoch: &str) -> Result<Option<DataSet>, StoreError> {
        let now = self.clock.now();
        // With the one writer's connection taken, no flush is being written.
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        let Some(term) = replace(&mut transaction, raise, epoch, now).await? else {
            return Ok(None);
        };
        let raised = sqlx::query_as(
            "INSERT INTO data_sets (epoch, tag, term, replication_id, began_at) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (epoch) DO UPDATE
             SET tag = excluded.tag, term = excluded.term, replication_id = excluded.replication_id, drains_until = NULL
             RETURNING tag, epoch, term, replication_id, flush",
        )
        .bind(epoch)
        .bind(raise.tag)
        .bind(term)
        .bind(raise.replication_id)
        .bind(now.micros())
        .fetch_all(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(rows::written(raised).map(click_rows::data_set))
    }

    async fn begin(
        &self,
        raise: Raise<'_>,
        epoch_prefix: &str,
    ) -> Result<Option<DataSet>, StoreError> {
        let now = self.clock.now();
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        let Some(term) = replace(&mut transaction, raise, "", now).await? else {
            return Ok(None);
        };
        sqlx::query("DELETE FROM data_sets WHERE drains_until < ?1")
            .bind(now.micros() - RETENTION_MICROS)
            .execute(&mut *transaction)
            .await?;
        let began = sqlx::query_as(
            "INSERT INTO data_sets (epoch, tag, term, replication_id, began_at) VALUES (?1 || ?2, ?3, ?2, ?4, ?5)
             RETURNING tag, epoch, term, replication_id, flush",
        )
        .bind(epoch_prefix)
        .bind(term)
        .bind(raise.tag)
        .bind(raise.replication_id)
        .bind(now.micros())
        .fetch_all(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(rows::written(began).map(click_rows::data_set))
    }

    async fn keep_draining(&self, epoch: &str) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE data_sets SET drains_until = ?2 WHERE epoch = ?1 AND drains_until IS NOT NULL",
        )
        .bind(epoch)
        .bind(drains_until(self.clock.now()))
        .execute(&mut *self.writer.get().await?)
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
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        let mark = mark(&mut *transaction, flush).await?;
        if mark != from || matches!(mark, FlushMark::Superseded | FlushMark::OfAnother) {
            return Ok(mark);
        }
        count_clicks(&mut transaction, part, flush.interval).await?;
        queue_details(&mut transaction, details, flush.interval, None).await?;
        sqlx::query(
            "UPDATE data_sets SET flush = ?2, up_to = ?3, flush_name = ?4 WHERE epoch = ?1",
        )
        .bind(&flush.epoch)
        .bind(flush.number)
        .bind(click_rows::stored_mark(up_to))
        .bind(&flush.name)
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(up_to)
    }

    async fn flush_mark(&self, flush: &FlushId) -> Result<FlushMark, StoreError> {
        Ok(mark(&mut *self.reader.get().await?, flush).await?)
    }

    async fn moment_before_flush(&self) -> Result<Option<Timestamp>, StoreError> {
        let now = self.clock.now();
        let has_parked: bool =
            sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM click_journal WHERE parked)")
                .fetch_one(&mut *self.reader.get().await?)
                .await?;
        Ok((!has_parked).then_some(now))
    }

    async fn note_written_back(
        &self,
        epoch: &str,
        term: i64,
        up_to: Timestamp,
    ) -> Result<(), StoreError> {
        sqlx::query("UPDATE data_sets SET written_up_to = ?3 WHERE epoch = ?1 AND term = ?2")
            .bind(epoch)
            .bind(term)
            .bind(up_to.micros())
            .execute(&mut *self.writer.get().await?)
            .await?;
        Ok(())
    }

    async fn written_back_up_to(&self, tags: &[&str]) -> Result<Option<Timestamp>, StoreError> {
        let micros: Option<i64> = sqlx::query_scalar(
            "SELECT min(coalesce(written_up_to, began_at)) FROM data_sets AS kept
             WHERE tag IN (SELECT value FROM json_each(?1)) AND (drains_until > ?2
                 OR term = (SELECT max(term) FROM data_sets WHERE tag = kept.tag))",
        )
        .bind(serde_json::json!(tags).to_string())
        .bind(self.clock.now().micros())
        .fetch_one(&mut *self.reader.get().await?)
        .await?;
        Ok(micros.and_then(Timestamp::from_micros))
    }
}

/// The next term, if the newest one of the tag is the one that was read. Then a data set of another epoch that is in use
/// has been replaced; where that is on another server, its clicks may still be written back from there.
async fn replace(
    transaction: &mut SqliteConnection,
    raise: Raise<'_>,
    epoch: &str,
    now: Timestamp,
) -> Result<Option<i64>, sqlx::Error> {
    let (newest, of_all): (i64, i64) = sqlx::query_as(
        "SELECT coalesce(max(term) FILTER (WHERE tag = ?1), 0), max(coalesce(max(term), 0), 0) FROM data_sets",
    )
    .bind(raise.tag)
    .fetch_one(&mut *transaction)
    .await?;
    if newest != raise.from {
        return Ok(None);
    }
    sqlx::query(
        "UPDATE data_sets SET drains_until = CASE WHEN replication_id = ?3 THEN ?4 ELSE ?5 END
         WHERE term = ?1 AND epoch <> ?2",
    )
    .bind(raise.from)
    .bind(epoch)
    .bind(raise.replication_id)
    .bind(now.micros())
    .bind(drains_until(now))
    .execute(transaction)
    .await?;
    Ok(Some(of_all.max(raise.above).saturating_add(1)))
}

async fn mark(
    database: impl SqliteExecutor<'_>,
    flush: &FlushId,
) -> Result<FlushMark, sqlx::Error> {
    let mark: Option<i64> = sqlx::query_scalar(
        "SELECT CASE WHEN flush < ?3 THEN 0 WHEN flush > ?3 THEN -1 WHEN flush_name = ?4 THEN up_to ELSE -2 END
         FROM data_sets WHERE epoch = ?1 AND term = ?2",
    )
    .bind(&flush.epoch)
    .bind(flush.term)
    .bind(flush.number)
    .bind(&flush.name)
    .fetch_optional(database)
    .await?;
    Ok(mark.map_or(FlushMark::Superseded, click_rows::flush_mark))
}
