//! Sums the classes of clicks in SQLite.
//!
//! Clicks wait for the one writer, so each step is short. A link is in many batches: so all that waits is read and summed in memory,
//! and these sums are added to the days of links in their order, some at a time, and then to the days of their owners. What waits are the
//! batches that the journal keeps for their classes once their clicks are counted. The row in `click_details_summing`
//! says how many sums are added, in the same transaction; after a crash, the same sums are made of the same rows, and those that
//! are added are left out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use std::vec::IntoIter;

use tokio::sync::{Mutex, MutexGuard};
use tokio::time::sleep;

use super::class_mark::{ALL, Mark};
use super::class_rows::{ClassRows, Remembered};
use super::log::Log;
use super::pool::Pool;
use super::step_size::StepSize;
use crate::domain::ClickClass;
use crate::store::details;
use crate::store::rows::Tuples as _;
use crate::store::summing::{Sum, Whose};
use crate::store::{DetailedClicks, KnownClasses, StoreError};

/// Rows that are read at once.
const ROWS_PER_READ: u32 = 64;

/// After how many sums in memory no more rows are read. Each has some 60 bytes, and up to 200 where its class is its own.
const MAX_SUMS: usize = 131_072;

/// After how many rows no more are read, however few sums they make.
const MAX_ROWS: usize = 16_384;

/// After how many sums of one link or owner a step ends, although its row is written again with the next step.
const MAX_SUMS_OF_STEP: usize = 2_000;

/// The row before all rows.
const NONE: i64 = i64::MIN;

/// A recorder, and up to which of its batches classes are summed.
type Cut = (i64, i64);

/// `number` of a batch or `id` of a row for owners, `interval`, `details`.
type WaitingRow = (i64, i32, Vec<u8>);

/// Whose clicks they are, their interval and their class.
type OfClass = (Whose, i32, Arc<ClickClass>);

/// Adds to the sums by class, one step at a time.
pub(super) struct ClassSums {
    pub(super) writer: Arc<Pool>,
    pub(super) log: Arc<Log>,
    under_way: Mutex<UnderWay>,
}

#[derive(Default)]
pub(super) struct UnderWay {
    summing: Option<Summing>,
    pub(super) steps: Steps,
}

/// How large steps are, and what is remembered from one to the next.
pub(super) struct Steps {
    links: StepSize,
    owners: StepSize,
    removed: StepSize,
    /// Days of deleted links, and days whose quarters are not kept any more.
    pub(super) days: StepSize,
    pub(super) remembered: Remembered,
}

/// Sums of the rows that are summed together: first the sums of links, then the sums of owners.
struct Summing {
    mark: Mark,
    /// The sums that are still to be added.
    rest: IntoIter<Sum>,
}

/// What is read to be summed together.
#[derive(Default)]
struct Reading {
    sums: BTreeMap<OfClass, u64>,
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

    /// Whether there is something left to do of what was begun.
    pub(super) async fn is_under_way(&self) -> bool {
        self.between_steps().await.summing.is_some()
    }

    /// Does one step; returns whether there are more.
    pub(super) async fn step(&self, rows_per_day: u64) -> Result<bool, StoreError> {
        let mut under_way = self.between_steps().await;
        let UnderWay { summing, steps } = &mut *under_way;
        let Some(current) = (match summing.take() {
            Some(current) => Some(current),
            None => self.start().await?,
        }) else {
            return Ok(false);
        };
        *summing = match current {
            Summing { mark, rest } if rest.len() > 0 => {
                self.add_some(mark, rest, rows_per_day, steps).await?
            }
            Summing { mark, .. } if mark == Mark::LINKS_ADDED => {
                steps.remembered.forget_days();
                let of_owners = self.owners_of(mark).await?;
                if of_owners.rest.len() == 0 {
                    self.remove_summed(mark, &mut steps.removed).await?
                } else {
                    Some(of_owners)
                }
            }
            Summing { mark, .. } => self.remove_summed(mark, &mut steps.removed).await?,
        };
        Ok(true)
    }

    /// Waits for the step that is under way; the next one waits for the guard. All other code that writes days takes it, too: a step reads
    /// before it writes.
    pub(super) async fn between_steps(&self) -> MutexGuard<'_, UnderWay> {
        self.under_way.lock().await
    }

    /// Sums up what an earlier process began with, or what waits; `None` if there is nothing.
    async fn start(&self) -> Result<Option<Summing>, StoreError> {
        let (of_owners, added) =
            sqlx::query_as("SELECT of_owners, added FROM click_details_summing")
                .fetch_one(&mut *self.log.background().await?)
                .await?;
        let mark = Mark { of_owners, added };
        if mark.added == Some(ALL) {
            let rest = IntoIter::default();
            return Ok(Some(Summing { mark, rest }));
        }
        if mark.of_owners {
            return Ok(Some(self.owners_of(mark).await?));
        }
        let is_new = mark.added.is_none();
        let cuts = if is_new {
            "SELECT recorder, min(counted, told) FROM click_recorders WHERE EXISTS (
                 SELECT 1 FROM click_journal AS batch
                 WHERE batch.recorder = click_recorders.recorder AND number <= min(counted, told) AND NOT parked)"
        } else {
            "SELECT recorder, last_batch FROM click_details_cuts"
        };
        let mut cuts: Vec<Cut> = sqlx::query(cuts)
            .fetch_all(&mut *self.log.background().await?)
            .await?
            .tuples()?;
        let mut reading = Reading {
            is_bounded: is_new,
            ..Reading::default()
        };
        for (recorder, last) in &mut cuts {
            *last = self.read(&mut reading, Some(*recorder), *last).await?;
        }
        cuts.retain(|(_, last)| *last != NONE);
        if is_new {
            if reading.rows == 0 {
                return Ok(None);
            }
            self.begin(&cuts).await?;
        }
        Ok(Some(reading.rest_after(mark)))
    }

    /// The sums of owners.
    async fn owners_of(&self, mark: Mark) -> Result<Summing, StoreError> {
        let mut reading = Reading::default();
        self.read(&mut reading, None, ALL).await?;
        Ok(reading.rest_after(mark))
    }

    /// Reads the waiting rows of a recorder up to one, or those for owners. Returns the last one that was read.
    async fn read(
        &self,
        reading: &mut Reading,
        recorder: Option<i64>,
        last: i64,
    ) -> Result<i64, StoreError> {
        let statement = if recorder.is_some() {
            "SELECT number, interval, details FROM click_journal
             WHERE number > ?1 AND number <= ?2 AND recorder = ?4 AND NOT parked AND details IS NOT NULL
             ORDER BY number LIMIT ?3"
        } else {
            "SELECT id, interval, details FROM click_details_of_owners WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3"
        };
        let mut after = NONE;
        while !reading.is_full() {
            let started = Instant::now();
            let rows: Vec<WaitingRow> = sqlx::query(statement)
                .bind(after)
                .bind(last)
                .bind(ROWS_PER_READ)
                .bind(recorder)
                .fetch_all(&mut *self.log.background().await?)
                .await?
                .tuples()?;
            let Some((newest, ..)) = rows.last() else {
                break;
            };
            after = *newest;
            let sign = if recorder.is_some() { 1 } else { -1 };
            for row in rows {
                reading.gather(row, sign);
            }
            // One core may be all there is.
            sleep(started.elapsed()).await;
        }
        Ok(after)
    }

    /// Notes what is summed together.
    async fn begin(&self, cuts: &[Cut]) -> Result<(), StoreError> {
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        sqlx::query(
            "INSERT INTO click_details_cuts (recorder, last_batch) SELECT value ->> 0, value ->> 1 FROM json_each(?1);
             UPDATE click_details_summing SET of_owners = 0, added = 0",
        )
        .bind(serde_json::json!(cuts).to_string())
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(())
    }

    async fn add_some(
        &self,
        mark: Mark,
        mut rest: IntoIter<Sum>,
        rows_per_day: u64,
        steps: &mut Steps,
    ) -> Result<Option<Summing>, StoreError> {
        let size = if mark.of_owners {
            &mut steps.owners
        } else {
            &mut steps.links
        };
        let part = next_part(&mut rest, size.rows());
        let count = part.len();
        let next = match rest.len() {
            0 if mark.of_owners => Mark::OWNERS_ADDED,
            0 => Mark::LINKS_ADDED,
            _ => mark.plus(count),
        };
        // What is remembered is true only if the step succeeds.
        let mut remembered = std::mem::take(&mut steps.remembered);
        let rows = {
            let reader = &mut *self.log.background().await?;
            if mark.of_owners {
                ClassRows::of_owners(part, &mut remembered, reader).await?
            } else {
                ClassRows::of_links(part, rows_per_day, &mut remembered, reader).await?
            }
        };
        let mut writer = self.writer.get().await?;
        let started = Instant::now();
        let mut transaction = writer.begin_immediate().await?;
        if !mark.moves_to(next, &mut transaction).await? {
            return Ok(None);
        }
        rows.add(&mut transaction).await?;
        transaction.commit().await?;
        size.took(count, started.elapsed());
        steps.remembered = remembered;
        details::note_unclassified(rows.unclassified);
        Ok(Some(Summing { mark: next, rest }))
    }

    /// Removes rows whose sums are all added.
    async fn remove_summed(
        &self,
        mark: Mark,
        size: &mut StepSize,
    ) -> Result<Option<Summing>, StoreError> {
        let mut writer = self.writer.get().await?;
        let started = Instant::now();
        let mut transaction = writer.begin_immediate().await?;
        let added = Mark::OWNERS_ADDED;
        if !mark.moves_to(added, &mut transaction).await? {
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
                "DELETE FROM click_details_of_owners WHERE id IN (
                     SELECT id FROM click_details_of_owners ORDER BY id LIMIT ?1)",
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
            added.moves_to(Mark::NOTHING, &mut transaction).await?;
        }
        transaction.commit().await?;
        size.took(
            usize::try_from(removed).unwrap_or(usize::MAX),
            started.elapsed(),
        );
        let rest = IntoIter::default();
        Ok(are_more.then_some(Summing { mark: added, rest }))
    }
}

impl Default for Steps {
    fn default() -> Self {
        Self {
            links: StepSize::new(),
            owners: StepSize::new(),
            removed: StepSize::new(),
            days: StepSize::new(),
            remembered: Remembered::default(),
        }
    }
}

/// Takes so many sums out, and all sums of the last link or owner unless they are very many: its row is written once.
fn next_part(rest: &mut IntoIter<Sum>, sums: usize) -> Vec<Sum> {
    let of_next = |place: usize| rest.as_slice().get(place).map(|sum| sum.whose);
    let mut count = sums.max(1);
    while count < MAX_SUMS_OF_STEP && of_next(count) == of_next(count - 1) && count < rest.len() {
        count += 1;
    }
    rest.take(count).collect()
}

impl Reading {
    fn is_full(&self) -> bool {
        self.is_bounded && (self.rows >= MAX_ROWS || self.sums.len() >= MAX_SUMS)
    }

    /// Adds the classes of a row. Those that cannot be read are not known: the clicks are counted.
    fn gather(&mut self, (_, interval, packed): WaitingRow, sign: Whose) {
        self.rows += 1;
        let details = self.classes.parse(&packed).unwrap_or_default();
        for part in details.of_links() {
            let DetailedClicks {
                link,
                class,
                clicks,
            } = part;
            let of_class = (sign * link.number(), interval, Arc::clone(class));
            let sum = self.sums.entry(of_class).or_default();
            *sum = sum.saturating_add(*clicks);
        }
    }

    /// What is left to be added.
    fn rest_after(self, mark: Mark) -> Summing {
        let added = usize::try_from(mark.added.unwrap_or_default()).unwrap_or(usize::MAX);
        let sums = self.sums.into_iter().skip(added);
        let rest = sums.map(|((whose, interval, class), clicks)| Sum {
            whose,
            interval,
            class,
            clicks,
        });
        let rest = rest.collect::<Vec<_>>().into_iter();
        Summing {
            mark: Mark {
                added: mark.added.or(Some(0)),
                ..mark
            },
            rest,
        }
    }
}
