//! Counted clicks in SQLite.

use std::time::Duration;

use async_trait::async_trait;
use sqlx::SqliteExecutor;

use super::SqliteStore;
use super::batch::{from_json, to_json};
use crate::domain::{LinkId, Timestamp};
use crate::store::clicks::FENCE_GAP;
use crate::store::rows;
use crate::store::{
    ClickBatch, Clicks, Compacted, CountSnapshot, Fence, FlushId, FlushMark, FlushesSeen,
    ParkedBatch, RecorderId, StoreError,
};

const A_WEEK: Duration = Duration::from_hours(7 * 24);

#[async_trait]
impl Clicks for SqliteStore {
    async fn append(&self, batch: &ClickBatch, parked_in: Option<&str>) -> Result<(), StoreError> {
        // One statement: recorders' marks are written later, when a batch leaves the journal.
        sqlx::query(
            "INSERT INTO click_journal (recorder, number, held, epoch, clicks) SELECT ?1, ?2, ?3 IS NOT NULL, ?3, ?4
             WHERE NOT EXISTS (SELECT 1 FROM click_recorders WHERE recorder = ?1 AND last_batch >= ?2)
               AND NOT EXISTS (SELECT 1 FROM click_journal WHERE recorder = ?1 AND number >= ?2)",
        )
        .bind(batch.recorder.cast_signed())
        .bind(batch.number.cast_signed())
        .bind(parked_in)
        .bind(to_json(&batch.clicks))
        .execute(&mut *self.writer.get_with_priority().await?)
        .await?;
        self.log.batch_written();
        Ok(())
    }

    async fn compact(&self) -> Result<Compacted, StoreError> {
        self.compactor.step().await
    }

    async fn parked(
        &self,
        after: Option<(RecorderId, u64)>,
        limit: u32,
    ) -> Result<Vec<ParkedBatch>, StoreError> {
        let (recorder, number) = rows::batch_key(after);
        let found: Vec<(i64, i64, String, String)> = sqlx::query_as(
            "SELECT recorder, number, coalesce(epoch, ''), clicks FROM click_journal
             WHERE held AND (recorder, number) > (?1, ?2) ORDER BY recorder, number LIMIT ?3",
        )
        .bind(recorder)
        .bind(number)
        .bind(limit)
        .fetch_all(&mut *self.reader.get().await?)
        .await?;
        found
            .into_iter()
            .map(|(recorder, number, epoch, clicks)| {
                let batch = ClickBatch {
                    recorder: recorder.cast_unsigned(),
                    number: number.cast_unsigned(),
                    clicks: from_json(&clicks)?,
                };
                Ok(ParkedBatch { batch, epoch })
            })
            .collect()
    }

    async fn release_parked(&self, recorder: RecorderId, number: u64) -> Result<(), StoreError> {
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        let released =
            sqlx::query("DELETE FROM click_journal WHERE recorder = ?1 AND number = ?2 AND held")
                .bind(recorder.cast_signed())
                .bind(number.cast_signed())
                .execute(&mut *transaction)
                .await?;
        if released.rows_affected() == 0 {
            // The batch was not parked, so nothing is known of batches before it either.
            return Ok(());
        }
        sqlx::query(
            "INSERT INTO click_recorders (recorder, last_batch, seen_at) VALUES (?1, ?2, ?3)
             ON CONFLICT (recorder) DO UPDATE
             SET last_batch = max(last_batch, excluded.last_batch), seen_at = excluded.seen_at",
        )
        .bind(recorder.cast_signed())
        .bind(number.cast_signed())
        .bind(self.clock.now().micros())
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(())
    }

    async fn apply_flush(
        &self,
        flush: &FlushId,
        from: FlushMark,
        part: &[(LinkId, u64)],
        up_to: FlushMark,
        now: Timestamp,
    ) -> Result<FlushMark, StoreError> {
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        let mark = mark(&mut *transaction, flush).await?;
        if mark != from {
            return Ok(mark);
        }
        sqlx::query(
            "UPDATE links SET clicks = links.clicks + pair.value FROM json_each(?1) AS pair
             WHERE links.id = CAST(pair.key AS INTEGER)",
        )
        .bind(to_json(part))
        .execute(&mut *transaction)
        .await?;
        sqlx::query(
            "INSERT INTO flush_ledger (epoch, number, up_to, applied_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (epoch, number) DO UPDATE SET up_to = excluded.up_to",
        )
        .bind(&flush.epoch)
        .bind(flush.number)
        .bind(rows::stored_mark(up_to))
        .bind(now.micros())
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(up_to)
    }

    async fn flush_mark(&self, flush: &FlushId) -> Result<FlushMark, StoreError> {
        Ok(mark(&mut *self.reader.get().await?, flush).await?)
    }

    async fn fence(&self, newest: &FlushId, replication_id: &str) -> Result<Fence, StoreError> {
        // With the one writer's connection taken, no flush is being written.
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        let (is_ahead, greatest, is_known): (bool, i64, bool) = sqlx::query_as(
            "SELECT coalesce(max(number > ?2 AND up_to > 0), 0), coalesce(max(number), 0),
                 coalesce(max(number = ?2 AND up_to > 0), 0)
             FROM flush_ledger WHERE epoch = ?1",
        )
        .bind(&newest.epoch)
        .bind(newest.number)
        .fetch_one(&mut *transaction)
        .await?;
        if is_ahead {
            return Ok(Fence::Ahead);
        }
        let number = greatest.max(newest.number).saturating_add(FENCE_GAP);
        sqlx::query(
            "INSERT INTO flush_ledger (epoch, number, up_to, applied_at, life) VALUES (?1, ?2, -1, ?3, ?4)",
        )
        .bind(&newest.epoch)
        .bind(number)
        .bind(self.clock.now().micros())
        .bind(replication_id)
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(Fence::Below {
            number,
            newest_is_over: !is_known,
        })
    }

    async fn is_superseded_elsewhere(
        &self,
        flush: &FlushId,
        replication_id: &str,
    ) -> Result<bool, StoreError> {
        let found = sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM flush_ledger
                            WHERE epoch = ?1 AND number > ?2 AND (up_to > 0 OR life <> ?3))",
        )
        .bind(&flush.epoch)
        .bind(flush.number)
        .bind(replication_id)
        .fetch_one(&mut *self.reader.get().await?)
        .await?;
        Ok(found)
    }

    async fn lift_fence(&self, fence: &FlushId) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM flush_ledger WHERE epoch = ?1 AND number = ?2 AND up_to = -1")
            .bind(&fence.epoch)
            .bind(fence.number)
            .execute(&mut *self.writer.get().await?)
            .await?;
        Ok(())
    }

    async fn prune(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let flushes = sqlx::query(
            "DELETE FROM flush_ledger WHERE (epoch, number) IN (
                 SELECT epoch, number FROM flush_ledger AS old
                 WHERE applied_at < ?1 AND up_to IN (9223372036854775807, -1) AND EXISTS (
                     SELECT 1 FROM flush_ledger AS newer
                     WHERE newer.epoch = old.epoch AND newer.number > old.number AND newer.up_to > 0)
                 LIMIT ?2)",
        )
        .bind(before.micros())
        .bind(limit)
        .execute(&mut *self.writer.get().await?)
        .await?;
        let recorders = sqlx::query(
            "DELETE FROM click_recorders WHERE recorder IN (
                 SELECT recorder FROM click_recorders AS old WHERE seen_at < ?1 AND NOT EXISTS (
                     SELECT 1 FROM click_journal WHERE click_journal.recorder = old.recorder) LIMIT ?2)",
        )
        .bind(before.before(A_WEEK).micros())
        .bind(limit)
        .execute(&mut *self.writer.get().await?)
        .await?;
        Ok(flushes.rows_affected() + recorders.rows_affected())
    }

    async fn counts(
        &self,
        links: &[LinkId],
        flushes: Option<FlushesSeen<'_>>,
    ) -> Result<CountSnapshot, StoreError> {
        let ids: Vec<i64> = links.iter().map(|link| link.number()).collect();
        let (epoch, under_way, newest) = match flushes {
            Some(seen) => (seen.epoch, seen.under_way, seen.newest),
            None => ("", [].as_slice(), i64::MAX),
        };
        // One statement, so one snapshot; the kinds are those of `rows`.
        let found = sqlx::query_as(
            "WITH asked AS (SELECT value AS id FROM json_each(?1)),
             journal AS (
                 SELECT CAST(pair.key AS INTEGER) AS id, sum(pair.value) AS n
                 FROM click_journal LEFT JOIN folding_cuts USING (recorder), json_each(clicks) AS pair
                 WHERE NOT held AND CAST(pair.key AS INTEGER) IN (SELECT id FROM asked)
                   AND (last_batch IS NULL OR number > last_batch
                        OR CAST(pair.key AS INTEGER) > (SELECT up_to FROM folding))
                 GROUP BY 1
             )
             SELECT 0, links.id, links.clicks + coalesce(journal.n, 0)
             FROM asked JOIN links USING (id) LEFT JOIN journal USING (id)
             UNION ALL
             SELECT 1, number, up_to FROM flush_ledger
             WHERE epoch = ?2 AND (number IN (SELECT value FROM json_each(?3)) OR number > ?4 AND up_to > 0)
             UNION ALL
             SELECT 2, 0, 0 WHERE EXISTS (SELECT 1 FROM click_journal WHERE held AND (?2 = '' OR epoch = ?2))",
        )
        .bind(serde_json::json!(ids).to_string())
        .bind(epoch)
        .bind(serde_json::json!(under_way).to_string())
        .bind(newest)
        .fetch_all(&mut *self.reader.get().await?)
        .await?;
        rows::count_snapshot(found)
    }
}

async fn mark(
    database: impl SqliteExecutor<'_>,
    flush: &FlushId,
) -> Result<FlushMark, sqlx::Error> {
    let mark = sqlx::query_scalar(
        "SELECT coalesce(
             (SELECT up_to FROM flush_ledger WHERE epoch = ?1 AND number = ?2),
             (SELECT -1 FROM flush_ledger WHERE epoch = ?1 AND number > ?2 LIMIT 1),
             0)",
    )
    .bind(&flush.epoch)
    .bind(flush.number)
    .fetch_one(database)
    .await?;
    Ok(rows::flush_mark(mark))
}
