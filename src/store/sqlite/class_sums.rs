//! Sums the classes of clicks in SQLite.
//!
//! Clicks wait for the one writer, so each step is short. A link is in many batches: so all that waits is read and summed in memory,
//! and these sums are added to the tables in their order, some at a time. What waits are the batches that the journal keeps for their
//! classes once their clicks are counted, and a queue for clicks that were not in the journal. The row in `click_details_summing`
//! says how many sums are added, in the same transaction; after a crash, the same sums are made of the same rows, and those that
//! are added are left out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use sqlx::SqliteConnection;
use tokio::sync::Mutex;
use tokio::time::sleep;

use super::batch::from_json;
use super::class_rows::{ClassRows, Remembered};
use super::detail_room::dropped;
use super::log::Log;
use super::pool::Pool;
use super::step_size::StepSize;
use crate::store::details;
use crate::store::summing::OfClass;
use crate::store::{DetailedClicks, KnownClasses, StoreError};

/// Rows that are read at once.
const ROWS_PER_READ: u32 = 64;

/// After how many sums in memory no more rows are read. Each has some 60 bytes, and up to 200 where its class is its own.
const MAX_SUMS: usize = 131_072;

/// After how many rows no more are read, however few sums they make.
const MAX_ROWS: usize = 16_384;

/// The mark from which on all sums are added, and that before all rows.
const ALL: i64 = i64::MAX;
const NONE: i64 = i64::MIN;

/// A recorder, and up to which of its batches classes are summed.
type Cut = (i64, i64);

/// `number` of a batch or `id` in the queue, `interval`, `details`, `limits`.
type WaitingRow = (i64, i32, Vec<u8>, Option<String>);

/// Adds to the sums by class, one step at a time.
pub(super) struct ClassSums {
    writer: Arc<Pool>,
    log: Arc<Log>,
    under_way: Mutex<UnderWay>,
}

#[derive(Default)]
struct UnderWay {
    summing: Option<Summing>,
    steps: Steps,
}

/// How large steps are, and what is remembered from one to the next.
struct Steps {
    sums: StepSize,
    removed: StepSize,
    remembered: Remembered,
}

/// Sums of the rows that are summed together.
struct Summing {
    /// How many are added.
    added: i64,
    /// Those that are still to be added.
    rest: BTreeMap<OfClass, u64>,
}

/// What is read to be summed together.
struct Reading {
    summing: Summing,
    classes: KnownClasses,
    rows: usize,
    /// Whether it ends when it is enough. What an earlier process began with is read as a whole.
    is_bounded: bool,
}

impl ClassSums {
    pub(super) fn new(writer: Arc<Pool>, log: Arc<Log>) -> Self {
        Self {
            writer,
            log,
            under_way: Mutex::default(),
        }
    }

    /// Does one step; returns whether there are more.
    pub(super) async fn step(&self, rows_per_day: u64) -> Result<bool, StoreError> {
        let mut under_way = self.under_way.lock().await;
        let UnderWay { summing, steps } = &mut *under_way;
        let Some(current) = (match summing.take() {
            Some(current) => Some(current),
            None => self.start().await?,
        }) else {
            return Ok(false);
        };
        *summing = if current.rest.is_empty() {
            self.remove_summed(current, &mut steps.removed).await?
        } else {
            self.add_some(current, rows_per_day, steps).await?
        };
        Ok(true)
    }

    /// Waits for the step that is under way; the next one waits for the guard. To forget that a link was deleted takes the guard: a step
    /// looks before it writes.
    pub(super) async fn between_steps(&self) -> impl Drop {
        self.under_way.lock().await
    }

    /// Sums up what an earlier process began with, or what waits; `None` if there is nothing.
    async fn start(&self) -> Result<Option<Summing>, StoreError> {
        let (added, queued): (Option<i64>, i64) =
            sqlx::query_as("SELECT added, queued FROM click_details_summing")
                .fetch_one(&mut *self.log.background().await?)
                .await?;
        let dropped = dropped(&mut *self.log.background().await?).await?;
        details::note_dropped(dropped);
        let mut reading = Reading {
            summing: Summing {
                added: added.unwrap_or_default(),
                rest: BTreeMap::new(),
            },
            classes: KnownClasses::default(),
            rows: 0,
            is_bounded: added.is_none(),
        };
        if added == Some(ALL) {
            return Ok(Some(reading.summing));
        }
        let cuts = if added.is_none() {
            "SELECT recorder, counted FROM click_recorders WHERE EXISTS (
                 SELECT 1 FROM click_journal AS batch
                 WHERE batch.recorder = click_recorders.recorder AND number <= counted AND NOT parked)"
        } else {
            "SELECT recorder, last_batch FROM click_details_cuts"
        };
        let mut cuts: Vec<Cut> = sqlx::query_as(cuts)
            .fetch_all(&mut *self.log.background().await?)
            .await?;
        for (recorder, last) in &mut cuts {
            *last = self.read(&mut reading, Some(*recorder), *last).await?;
        }
        cuts.retain(|(_, last)| *last != NONE);
        let last = if added.is_none() { ALL } else { queued };
        let queued = self.read(&mut reading, None, last).await?;
        if added.is_none() {
            if reading.rows == 0 {
                return Ok(None);
            }
            self.begin(&cuts, queued).await?;
        }
        let mut summing = reading.summing;
        for _ in 0..summing.added {
            summing.rest.pop_first();
        }
        Ok(Some(summing))
    }

    /// Reads the waiting rows of a recorder, or of the queue, up to one. Returns the last one that was read.
    async fn read(
        &self,
        reading: &mut Reading,
        recorder: Option<i64>,
        last: i64,
    ) -> Result<i64, StoreError> {
        let statement = if recorder.is_some() {
            "SELECT number, interval, details, NULL FROM click_journal
             WHERE number > ?1 AND number <= ?2 AND recorder = ?4 AND NOT parked AND details IS NOT NULL
             ORDER BY number LIMIT ?3"
        } else {
            "SELECT id, interval, details, limits FROM click_detail_queue
             WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3"
        };
        let mut after = NONE;
        while !reading.is_full() {
            let started = Instant::now();
            let rows: Vec<WaitingRow> = sqlx::query_as(statement)
                .bind(after)
                .bind(last)
                .bind(ROWS_PER_READ)
                .bind(recorder)
                .fetch_all(&mut *self.log.background().await?)
                .await?;
            let Some((newest, ..)) = rows.last() else {
                break;
            };
            after = *newest;
            for row in rows {
                reading.gather(row)?;
            }
            // One core may be all there is.
            sleep(started.elapsed()).await;
        }
        Ok(after)
    }

    /// Notes what is summed together.
    async fn begin(&self, cuts: &[Cut], queued: i64) -> Result<(), StoreError> {
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        sqlx::query(
            "INSERT INTO click_details_cuts (recorder, last_batch) SELECT value ->> 0, value ->> 1 FROM json_each(?1)",
        )
        .bind(serde_json::json!(cuts).to_string())
        .execute(&mut *transaction)
        .await?;
        sqlx::query("UPDATE click_details_summing SET added = 0, queued = ?1")
            .bind(queued)
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(())
    }

    async fn add_some(
        &self,
        mut summing: Summing,
        rows_per_day: u64,
        steps: &mut Steps,
    ) -> Result<Option<Summing>, StoreError> {
        let next = std::iter::from_fn(|| summing.rest.pop_first());
        let part: Vec<_> = next.take(steps.sums.rows()).collect();
        let count = part.len();
        let before = summing.added;
        summing.added = if summing.rest.is_empty() {
            ALL
        } else {
            before.saturating_add_unsigned(count as u64)
        };
        // What is remembered is true only if the step succeeds.
        let mut remembered = std::mem::take(&mut steps.remembered);
        let rows = {
            let reader = &mut *self.log.background().await?;
            ClassRows::of(part, rows_per_day, &mut remembered, reader).await?
        };
        let mut writer = self.writer.get().await?;
        let started = Instant::now();
        let mut transaction = writer.begin_immediate().await?;
        if !rows.mark(&mut transaction, before, summing.added).await? {
            return Ok(None);
        }
        rows.add(&mut transaction).await?;
        transaction.commit().await?;
        steps.sums.took(count, started.elapsed());
        steps.remembered = remembered;
        details::note_unclassified(rows.unclassified);
        Ok(Some(summing))
    }

    /// Removes rows whose sums are all added.
    async fn remove_summed(
        &self,
        summing: Summing,
        size: &mut StepSize,
    ) -> Result<Option<Summing>, StoreError> {
        let mut writer = self.writer.get().await?;
        let started = Instant::now();
        let mut transaction = writer.begin_immediate().await?;
        if !mark(&mut transaction, summing.added, Some(ALL)).await? {
            return Ok(None);
        }
        let cut: Option<Cut> =
            sqlx::query_as("SELECT recorder, last_batch FROM click_details_cuts LIMIT 1")
                .fetch_optional(&mut *transaction)
                .await?;
        let limit = u32::try_from(size.rows()).unwrap_or(u32::MAX);
        let remove = match cut {
            Some((recorder, last)) => sqlx::query(
                "DELETE FROM click_journal WHERE (recorder, number) IN (
                     SELECT recorder, number FROM click_journal
                     WHERE recorder = ?2 AND number <= ?3 AND NOT parked AND details IS NOT NULL ORDER BY number LIMIT ?1)",
            )
            .bind(limit)
            .bind(recorder)
            .bind(last),
            None => sqlx::query(
                "DELETE FROM click_detail_queue WHERE id IN (
                     SELECT id FROM click_detail_queue
                     WHERE id <= (SELECT queued FROM click_details_summing) ORDER BY id LIMIT ?1)",
            )
            .bind(limit),
        };
        let removed = remove.execute(&mut *transaction).await?.rows_affected();
        let are_more = removed == u64::from(limit) || cut.is_some();
        if let Some((recorder, _)) = cut.filter(|_| removed < u64::from(limit)) {
            sqlx::query("DELETE FROM click_details_cuts WHERE recorder = ?1")
                .bind(recorder)
                .execute(&mut *transaction)
                .await?;
        }
        if !are_more {
            mark(&mut transaction, ALL, None).await?;
        }
        transaction.commit().await?;
        size.took(
            usize::try_from(removed).unwrap_or(usize::MAX),
            started.elapsed(),
        );
        let rest = Summing {
            added: ALL,
            rest: BTreeMap::new(),
        };
        Ok(are_more.then_some(rest))
    }
}

impl Default for Steps {
    fn default() -> Self {
        Self {
            sums: StepSize::new(),
            removed: StepSize::new(),
            remembered: Remembered::default(),
        }
    }
}

impl Reading {
    fn is_full(&self) -> bool {
        self.is_bounded && (self.rows >= MAX_ROWS || self.summing.rest.len() >= MAX_SUMS)
    }

    /// Adds the classes of a row. Those that cannot be read are not known: the clicks are counted.
    fn gather(&mut self, row: WaitingRow) -> Result<(), StoreError> {
        let (_, interval, packed, limits) = row;
        self.rows += 1;
        let mut details = self.classes.parse(&packed).unwrap_or_default();
        if let Some(limits) = limits {
            details = details.fitted_to(&from_json(&limits)?);
        }
        for part in details.of_links() {
            let DetailedClicks {
                link,
                class,
                clicks,
            } = part;
            let sum = self
                .summing
                .rest
                .entry((*link, interval, Arc::clone(class)));
            let sum = sum.or_default();
            *sum = sum.saturating_add(*clicks);
        }
        Ok(())
    }
}

/// Moves the mark, unless another process that has this file did meanwhile: returns whether it was where it is expected.
async fn mark(
    transaction: &mut SqliteConnection,
    from: i64,
    to: Option<i64>,
) -> Result<bool, StoreError> {
    let moved = sqlx::query("UPDATE click_details_summing SET added = ?2 WHERE added = ?1")
        .bind(from)
        .bind(to)
        .execute(transaction)
        .await?;
    Ok(moved.rows_affected() == 1)
}
