//! Sums the classes of clicks in SQLite.
//!
//! Clicks wait for the one writer, so each step is short. A link is in many batches: so all that waits is taken out of the queue
//! and summed in memory, and these sums are added to the tables in their order, some at a time. The row in
//! `click_details_summing` says how many are added, in the same transaction; after a crash, the same sums are made of the rows that
//! were taken, and those that are added are left out.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use sqlx::SqliteConnection;
use tokio::sync::Mutex;
use tokio::time::sleep;

use super::batch::from_json;
use super::detail_room::{add_classes, dropped, known_classes, note_growth, room};
use super::log::Log;
use super::one_row::{in_one_row, read};
use super::pool::Pool;
use crate::store::details;
use crate::store::summing::{Added, DayOf, OfClass, Referrers, Sums};
use crate::store::{DetailedClicks, KnownClasses, StoreError};

/// Rows that are taken out of the queue, read, or removed in one step.
const ROWS_PER_STEP: u32 = 64;

/// After how many sums in memory no more rows are taken. Each has some 60 bytes, and up to 200 where its class is its own.
const MAX_SUMS: usize = 131_072;

/// After how many rows no more are taken, however few sums they make: they wait in none of the tables that breakdowns read.
const MAX_ROWS: usize = 16_384;

/// Sums that are added in one step.
const SUMS_PER_STEP: usize = 128;

/// The mark from which on all sums are added.
const ALL: i64 = i64::MAX;

/// `id`, `interval`, `details`, `limits`.
type TakenRow = (i64, i32, Vec<u8>, Option<String>);

/// Adds rows to a table whose key is a column of this name.
macro_rules! add {
    ($table:literal, $key:literal) => {
        concat!(
            "INSERT INTO ",
            $table,
            " (",
            $key,
            ", at, class_id, clicks)
             SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?1) WHERE true
             ON CONFLICT (",
            $key,
            ", at, class_id) DO UPDATE SET clicks = clicks + excluded.clicks"
        )
    };
}

/// Adds to the sums by class, one step at a time.
pub(super) struct ClassSums {
    writer: Arc<Pool>,
    log: Arc<Log>,
    under_way: Mutex<Option<Summing>>,
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
        let Some(current) = (match under_way.take() {
            Some(current) => Some(current),
            None => self.start().await?,
        }) else {
            return Ok(false);
        };
        *under_way = if current.rest.is_empty() {
            self.remove_taken(current).await?
        } else {
            self.add_some(current, rows_per_day).await?
        };
        Ok(true)
    }

    /// Sums up what an earlier process took, or what waits; `None` if there is nothing.
    async fn start(&self) -> Result<Option<Summing>, StoreError> {
        let added: Option<i64> = sqlx::query_scalar("SELECT added FROM click_details_summing")
            .fetch_one(&mut *self.log.background().await?)
            .await?;
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
    ) -> Result<Option<Summing>, StoreError> {
        let next = std::iter::from_fn(|| summing.rest.pop_first());
        let part: Vec<_> = next.take(SUMS_PER_STEP).collect();
        let before = summing.added;
        summing.added = if summing.rest.is_empty() {
            ALL
        } else {
            before.saturating_add_unsigned(part.len() as u64)
        };
        let sums = Sums::of_classes(part);
        let (sums, mut ids) = {
            let reader = &mut *self.log.background().await?;
            let owners = owners_of(reader, sums.links()).await?;
            let (of_links, of_owners) = sums.days_with_referrers(&owners);
            let of_links = referrers(reader, REFERRERS_OF_LINKS, of_links).await?;
            let of_owners = referrers(reader, REFERRERS_OF_OWNERS, of_owners).await?;
            let sums = sums.bound(&owners, of_links, of_owners);
            let ids = known_classes(reader, &sums.classes()).await?;
            (sums, ids)
        };
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        if !mark(&mut transaction, before, Some(summing.added)).await? {
            return Ok(None);
        }
        add_classes(&mut transaction, &sums.classes(), &mut ids).await?;
        // Once more: some may have been deleted meanwhile.
        let owners = owners_of(&mut transaction, sums.links()).await?;
        let wanted = as_json(&sums.rows(&owners, &ids).links);
        let mut room = room(&mut transaction, &wanted, rows_per_day).await?;
        let (sums, unclassified) = sums.fitted(&ids, &mut room);
        note_growth(&mut transaction, room.new_rows()).await?;
        let added = sums.rows(&owners, &ids);
        for (statement, rows) in [
            (add!("link_details", "link_id"), added.links),
            (add!("link_detail_days", "link_id"), added.link_days),
            (add!("owner_details", "owner_id"), added.owners),
            (add!("owner_detail_days", "owner_id"), added.owner_days),
            (
                "INSERT INTO link_bots (link_id, interval, clicks)
                 SELECT value ->> 0, value ->> 1, value ->> 3 FROM json_each(?1) WHERE true
                 ON CONFLICT (link_id, interval) DO UPDATE SET clicks = clicks + excluded.clicks",
                added.bots,
            ),
        ] {
            if !rows.keys.is_empty() {
                sqlx::query(statement)
                    .bind(as_json(&rows))
                    .execute(&mut *transaction)
                    .await?;
            }
        }
        let dropped = dropped(&mut transaction).await?;
        transaction.commit().await?;
        details::note_unclassified(unclassified);
        details::note_dropped(dropped);
        Ok(Some(summing))
    }

    /// Removes rows whose sums are all added.
    async fn remove_taken(&self, summing: Summing) -> Result<Option<Summing>, StoreError> {
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        if !mark(&mut transaction, summing.added, Some(ALL)).await? {
            return Ok(None);
        }
        let removed = sqlx::query(
            "DELETE FROM click_details_taken WHERE id IN (SELECT id FROM click_details_taken ORDER BY id LIMIT ?1)",
        )
        .bind(ROWS_PER_STEP)
        .execute(&mut *transaction)
        .await?;
        let are_more = removed.rows_affected() == u64::from(ROWS_PER_STEP);
        if !are_more {
            mark(&mut transaction, ALL, None).await?;
        }
        transaction.commit().await?;
        let rest = Summing {
            added: ALL,
            rest: BTreeMap::new(),
        };
        Ok(are_more.then_some(rest))
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

const REFERRERS_OF_LINKS: &str = in_one_row!(
    "link_id, at, referrer",
    "SELECT DISTINCT link_id, at, referrer FROM json_each(?1)
     JOIN link_detail_days ON link_id = value ->> 0 AND at = value ->> 1
     JOIN click_classes ON click_classes.id = class_id WHERE referrer NOT IN ('', 'other')"
);

const REFERRERS_OF_OWNERS: &str = in_one_row!(
    "owner_id, at, referrer",
    "SELECT DISTINCT owner_id, at, referrer FROM json_each(?1)
     JOIN owner_detail_days ON owner_id = value ->> 0 AND at = value ->> 1
     JOIN click_classes ON click_classes.id = class_id WHERE referrer NOT IN ('', 'other')"
);

const OWNERS: &str = in_one_row!(
    "id, owner_id",
    "SELECT id, owner_id FROM links WHERE id IN (SELECT value FROM json_each(?1))"
);

/// The owner of each link that still exists.
async fn owners_of(
    reader: &mut SqliteConnection,
    links: Vec<i64>,
) -> Result<HashMap<i64, i64>, StoreError> {
    let found: Vec<(i64, i64)> = read(reader, OWNERS, &json!(links).to_string()).await?;
    Ok(found.into_iter().collect())
}

async fn referrers(
    reader: &mut SqliteConnection,
    statement: &'static str,
    days: BTreeSet<DayOf>,
) -> Result<Referrers, StoreError> {
    let mut referrers = Referrers::new();
    if days.is_empty() {
        return Ok(referrers);
    }
    let found: Vec<(i64, i32, String)> = read(reader, statement, &json!(days).to_string()).await?;
    for (id, day, referrer) in found {
        referrers.entry((id, day)).or_default().insert(referrer);
    }
    Ok(referrers)
}

/// `[[key, time, class, clicks], …]`
fn as_json(rows: &Added) -> String {
    let columns = rows
        .keys
        .iter()
        .zip(&rows.times)
        .zip(rows.classes.iter().zip(&rows.clicks));
    let rows: Vec<_> = columns
        .map(|((key, time), (class, clicks))| (key, time, class, clicks))
        .collect();
    json!(rows).to_string()
}
