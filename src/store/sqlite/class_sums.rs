//! Sums the classes of clicks in SQLite.
//!
//! Clicks wait for the one writer, so each step is short. A link is in many batches: so all that waits is taken out of the queue
//! and summed in memory, and these sums are added to the tables in their order, some at a time. The row in
//! `click_details_summing` says how many are added, in the same transaction; after a crash, the same sums are made of the rows that
//! were taken, and those that are added are left out.

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

/// Rows that are taken out of the queue or read in one step.
const ROWS_PER_STEP: u32 = 64;

/// After how many sums in memory no more rows are taken. Each has some 60 bytes, and up to 200 where its class is its own.
const MAX_SUMS: usize = 131_072;

/// After how many rows no more are taken, however few sums they make: they wait in none of the tables that breakdowns read.
const MAX_ROWS: usize = 16_384;

/// The mark from which on all sums are added.
const ALL: i64 = i64::MAX;

/// `id`, `interval`, `details`, `limits`.
type TakenRow = (i64, i32, Vec<u8>, Option<String>);

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

/// Sums of rows that are taken out of the queue.
struct Summing {
    /// How many are added.
    added: i64,
    /// Those that are still to be added.
    rest: BTreeMap<OfClass, u64>,
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
            self.remove_taken(current, &mut steps.removed).await?
        } else {
            self.add_some(current, rows_per_day, steps).await?
        };
        Ok(true)
    }

    /// Waits for the step that is under way; the next one waits for the guard. Whoever forgets that a link was deleted needs it: a step
    /// looks before it writes.
    pub(super) async fn between_steps(&self) -> impl Drop {
        self.under_way.lock().await
    }

    /// Sums up what an earlier process took, or what waits; `None` if there is nothing.
    async fn start(&self) -> Result<Option<Summing>, StoreError> {
        let added: Option<i64> = sqlx::query_scalar("SELECT added FROM click_details_summing")
            .fetch_one(&mut *self.log.background().await?)
            .await?;
        let dropped = dropped(&mut *self.log.background().await?).await?;
        details::note_dropped(dropped);
        let mut summing = Summing {
            added: added.unwrap_or_default(),
            rest: BTreeMap::new(),
        };
        if added == Some(ALL) {
            return Ok(Some(summing));
        }
        let (mut classes, mut after, mut read) = (KnownClasses::default(), None, 0);
        loop {
            let started = Instant::now();
            let rows = self.taken(after).await?;
            if let Some((newest, ..)) = rows.last() {
                after = Some(*newest);
                read += rows.len();
                for row in rows {
                    summing.gather(row, &mut classes)?;
                }
            } else if added.is_some()
                || summing.rest.len() >= MAX_SUMS
                || read >= MAX_ROWS
                || !self.take_some().await?
            {
                break;
            }
            // One core may be all there is.
            sleep(started.elapsed()).await;
        }
        for _ in 0..summing.added {
            summing.rest.pop_first();
        }
        Ok(after.map(|_| summing))
    }

    /// The next rows that are taken.
    async fn taken(&self, after: Option<i64>) -> Result<Vec<TakenRow>, StoreError> {
        let rows = sqlx::query_as(
            "SELECT id, interval, details, limits FROM click_details_taken WHERE id > ?1 ORDER BY id LIMIT ?2",
        )
        .bind(after.unwrap_or(i64::MIN))
        .bind(ROWS_PER_STEP)
        .fetch_all(&mut *self.log.background().await?)
        .await?;
        Ok(rows)
    }

    /// Takes the next rows out of the queue; returns whether there were any.
    async fn take_some(&self) -> Result<bool, StoreError> {
        let is_waiting: bool =
            sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM click_detail_queue)")
                .fetch_one(&mut *self.log.background().await?)
                .await?;
        if !is_waiting {
            return Ok(false);
        }
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        for statement in [
            "INSERT INTO click_details_taken (id, interval, details, limits)
             SELECT id, interval, details, limits FROM click_detail_queue ORDER BY id LIMIT ?1",
            "DELETE FROM click_detail_queue WHERE id IN (SELECT id FROM click_detail_queue ORDER BY id LIMIT ?1)",
        ] {
            sqlx::query(statement)
                .bind(ROWS_PER_STEP)
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await?;
        Ok(true)
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
    async fn remove_taken(
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
        let limit = u32::try_from(size.rows()).unwrap_or(u32::MAX);
        let removed = sqlx::query(
            "DELETE FROM click_details_taken WHERE id IN (SELECT id FROM click_details_taken ORDER BY id LIMIT ?1)",
        )
        .bind(limit)
        .execute(&mut *transaction)
        .await?;
        let are_more = removed.rows_affected() == u64::from(limit);
        if !are_more {
            mark(&mut transaction, ALL, None).await?;
        }
        transaction.commit().await?;
        size.took(limit as usize, started.elapsed());
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

impl Summing {
    /// Adds the classes of a row. Those that cannot be read are not known: the clicks are counted.
    fn gather(&mut self, row: TakenRow, classes: &mut KnownClasses) -> Result<(), StoreError> {
        let (_, interval, packed, limits) = row;
        let mut details = classes.parse(&packed).unwrap_or_default();
        if let Some(limits) = limits {
            details = details.fitted_to(&from_json(&limits)?);
        }
        for part in details.of_links() {
            let DetailedClicks {
                link,
                class,
                clicks,
            } = part;
            let sum = self.rest.entry((*link, interval, Arc::clone(class)));
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
    let moved =
        sqlx::query("UPDATE click_details_summing SET added = ?2 WHERE coalesce(added, 0) = ?1")
            .bind(from)
            .bind(to)
            .execute(transaction)
            .await?;
    Ok(moved.rows_affected() == 1)
}
