//! Counted clicks in SQLite.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use sqlx::SqliteConnection;

use super::SqliteStore;
use super::batch::{from_json, owners_to_json, to_json, with_owners};
use super::counted::{count_clicks, insert_classes};
use crate::domain::{Interval, LinkId, Timestamp};
use crate::store::click_rows;
use crate::store::rows::Tuples as _;
use crate::store::{
    ClickBatch, ClickDetails, Clicks, Compacted, CountSnapshot, FlushId, FlushMark, FlushesSeen,
    LinkClicks, MergeRound, ParkedBatch, RecorderId, StoreError,
};

/// Recorder, number, epoch, clicks, tag, interval, packed classes.
type ParkedRow = (
    i64,
    i64,
    String,
    String,
    String,
    Option<String>,
    i64,
    Option<Vec<u8>>,
);

const A_WEEK: Duration = Duration::from_hours(7 * 24);

/// The rows of a snapshot of counts; the kinds are those of `rows`.
macro_rules! counts {
    () => {
        "WITH asked AS (SELECT value AS id FROM json_each(?1)),
    journal AS MATERIALIZED (
        SELECT CAST(pair.key AS INTEGER) AS id, interval, sum(pair.value) AS n
        FROM click_journal LEFT JOIN compaction_cuts USING (recorder) LEFT JOIN click_recorders USING (recorder),
            json_each(clicks) AS pair
        WHERE NOT parked AND (counted IS NULL OR number > counted) AND CAST(pair.key AS INTEGER) IN (SELECT id FROM asked)
          AND (compaction_cuts.last_batch IS NULL OR number > compaction_cuts.last_batch
               OR CAST(pair.key AS INTEGER) > (SELECT up_to FROM compaction))
        GROUP BY 1, 2
    )
    SELECT 0, links.id, links.clicks + coalesce((SELECT sum(n) FROM journal WHERE journal.id = links.id), 0)
    FROM asked JOIN links USING (id)
    UNION ALL
    SELECT 1, seen.value, CASE WHEN seen.value < flush THEN 9223372036854775807 ELSE up_to END
    FROM data_sets, json_each(?3) AS seen WHERE epoch = ?2 AND seen.value <= flush
    UNION ALL
    SELECT 1, flush, up_to FROM data_sets WHERE epoch = ?2 AND flush > ?4
    UNION ALL
    SELECT 2, 0, 0 WHERE EXISTS (SELECT 1 FROM click_journal WHERE parked AND (?2 = '' OR epoch = ?2))
    UNION ALL
    SELECT 3, 0, 0 WHERE ?2 <> '' AND NOT EXISTS (
        SELECT 1 FROM data_sets AS seen WHERE epoch = ?2 AND term = ?5
        AND term = (SELECT max(term) FROM data_sets WHERE tag = seen.tag))
    UNION ALL
    SELECT 4, 0, 0 WHERE EXISTS (
        SELECT 1 FROM data_sets AS seen JOIN data_sets AS other USING (tag)
        WHERE seen.epoch = ?2 AND other.drains_until > ?6)"
    };
}

pub(super) use counts;

const COUNTS: &str = counts!();

#[async_trait]
impl Clicks for SqliteStore {
    async fn append(&self, batch: &ClickBatch, parked_in: Option<&str>) -> Result<(), StoreError> {
        let started = Instant::now();
        // One statement: recorders' marks are written later, when a batch leaves the journal.
        sqlx::query(
            "INSERT INTO click_journal (recorder, number, parked, epoch, clicks, owners, interval, details)
             SELECT ?1, ?2, ?3 IS NOT NULL, ?3, ?4, ?5, ?6, ?7
             WHERE NOT EXISTS (SELECT 1 FROM click_recorders WHERE recorder = ?1 AND last_batch >= ?2)
               AND NOT EXISTS (SELECT 1 FROM click_journal WHERE recorder = ?1 AND number >= ?2)",
        )
        .bind(batch.recorder.cast_signed())
        .bind(batch.number.cast_signed())
        .bind(parked_in)
        .bind(to_json(batch.clicks.iter().map(LinkClicks::of_link)))
        .bind(parked_in.map(|_| owners_to_json(&batch.clicks)))
        .bind(batch.interval.number())
        .bind(click_rows::packed(&batch.details))
        .execute(&mut *self.writer.get_with_priority().await?)
        .await?;
        self.appends.note(started.elapsed(), Instant::now());
        self.log.batch_written();
        Ok(())
    }

    async fn compact(&self, _: &mut MergeRound) -> Result<Compacted, StoreError> {
        // What is removed from the journal has its place in the feeds of events.
        if !self.compactor.is_under_way().await {
            while self.tell().await? {}
        }
        self.compactor.step().await
    }

    async fn apply_part(
        &self,
        flush: &FlushId,
        from: FlushMark,
        part: &[LinkClicks],
        details: &ClickDetails,
        up_to: FlushMark,
    ) -> Result<bool, StoreError> {
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        let noted = sqlx::query(
            "UPDATE data_sets SET flush = ?3, up_to = ?5, flush_name = ?6 WHERE epoch = ?1 AND term = ?2
             AND (flush = ?3 AND up_to = ?4 AND flush_name = ?6 OR flush < ?3 AND ?4 = 0)",
        )
        .bind(&flush.epoch)
        .bind(flush.term)
        .bind(flush.number)
        .bind(from.stored())
        .bind(up_to.stored())
        .bind(&flush.name)
        .execute(&mut *transaction)
        .await?;
        if noted.rows_affected() == 0 {
            return Ok(false);
        }
        let clicks: Vec<_> = part.iter().map(LinkClicks::of_link).collect();
        count_clicks(&mut transaction, &clicks, flush.interval).await?;
        insert_classes(&mut transaction, details, &clicks, flush.interval).await?;
        transaction.commit().await?;
        Ok(true)
    }

    async fn parked(
        &self,
        after: Option<(RecorderId, u64)>,
        limit: u32,
    ) -> Result<Vec<ParkedBatch>, StoreError> {
        let (recorder, number) = click_rows::batch_key(after);
        let found: Vec<ParkedRow> = sqlx::query(
            "SELECT recorder, number, coalesce(epoch, ''), clicks, coalesce(owners, '[]'), tag, interval, details
             FROM click_journal LEFT JOIN data_sets USING (epoch) WHERE parked AND (recorder, number) > (?1, ?2) ORDER BY recorder, number LIMIT ?3",
        )
        .bind(recorder)
        .bind(number)
        .bind(limit)
        .fetch_all(&mut *self.reader.get().await?)
        .await?
        .tuples()?;
        found
            .into_iter()
            .map(
                |(recorder, number, epoch, clicks, owners, tag, interval, details)| {
                    let batch = ClickBatch {
                        recorder: recorder.cast_unsigned(),
                        number: number.cast_unsigned(),
                        interval: Interval::from_number(interval),
                        clicks: with_owners(from_json(&clicks)?, &owners)?,
                        details: click_rows::details(details),
                    };
                    Ok(ParkedBatch { batch, epoch, tag })
                },
            )
            .collect()
    }

    async fn release_parked(&self, recorder: RecorderId, number: u64) -> Result<(), StoreError> {
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        let released =
            sqlx::query("DELETE FROM click_journal WHERE recorder = ?1 AND number = ?2 AND parked")
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

    async fn prune(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let week_ago = now.before(A_WEEK).micros();
        let mut writer = self.writer.get().await?;
        let recorders = sqlx::query(
            "DELETE FROM click_recorders WHERE recorder IN (
                 SELECT recorder FROM click_recorders AS old WHERE seen_at < ?1 AND NOT EXISTS (
                     SELECT 1 FROM click_journal WHERE click_journal.recorder = old.recorder) LIMIT ?2)",
        )
        .bind(week_ago)
        .bind(limit)
        .execute(&mut *writer)
        .await?;
        let grants = sqlx::query(
            "DELETE FROM click_grants WHERE (recorder, number) IN (
                 SELECT recorder, number FROM click_grants AS old WHERE granted_at < ?1 OR EXISTS (
                     SELECT 1 FROM click_grants AS newer
                     WHERE newer.recorder = old.recorder AND newer.number > old.number) LIMIT ?2)",
        )
        .bind(week_ago)
        .bind(limit)
        .execute(&mut *writer)
        .await?;
        Ok(recorders.rows_affected() + grants.rows_affected())
    }

    async fn counts(
        &self,
        links: &[LinkId],
        flushes: Option<FlushesSeen<'_>>,
    ) -> Result<CountSnapshot, StoreError> {
        let ids: Vec<i64> = links.iter().map(|link| link.number()).collect();
        let seen = flushes.unwrap_or(FlushesSeen::NONE);
        // One statement, so one snapshot.
        let found = sqlx::query(COUNTS)
            .bind(serde_json::json!(ids).to_string())
            .bind(seen.epoch)
            .bind(serde_json::json!(seen.under_way).to_string())
            .bind(seen.newest)
            .bind(seen.term)
            .bind(self.clock.now().micros())
            .fetch_all(&mut *self.reader.get().await?)
            .await?
            .tuples()?;
        click_rows::count_snapshot(found)
    }
}

/// The rows of the clicks of links that the database has.
pub(in crate::store) async fn written_clicks(
    connection: &mut SqliteConnection,
    links: &[LinkId],
    now: Timestamp,
) -> Result<Vec<(i32, i64, i64)>, sqlx::Error> {
    let seen = FlushesSeen::NONE;
    let ids: Vec<i64> = links.iter().map(|link| link.number()).collect();
    let found = sqlx::query(COUNTS)
        .bind(serde_json::json!(ids).to_string())
        .bind(seen.epoch)
        .bind(serde_json::json!(seen.under_way).to_string())
        .bind(seen.newest)
        .bind(seen.term)
        .bind(now.micros())
        .fetch_all(connection)
        .await?;
    found.tuples()
}
