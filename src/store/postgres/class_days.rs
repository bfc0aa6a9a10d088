//! Packed days of classes in Postgres, as `class_days` of the schema says.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use foldhash::fast::RandomState;

use super::class_ids::{OfServer, new_ids};
use super::session::Session;
use crate::domain::ClickClass;
use crate::store::class_day::{ClassDay, PackedDay};
use crate::store::class_merge::ClassReader;
use crate::store::details::GROWTH_KEPT;
use crate::store::rows::Tuples as _;
use crate::store::summing::{ClassIds, ClassesById, DayOf};

/// `day`, `whose`, `bots`, `ended`, `quarters`.
pub(super) type DayRow = (i32, i64, Vec<u8>, Vec<u8>, Vec<u8>);

/// The same with its version.
type VersionedRow = (i32, i64, Vec<u8>, Vec<u8>, Vec<u8>, String);

/// The versions of rows that were read.
pub(super) type Versions = HashMap<DayOf, String, RandomState>;

/// Reads within a transaction. It locks nothing: [`write`] tells which rows have changed since.
pub(super) struct Reader<'a> {
    pub(super) session: &'a mut Session,
    pub(super) remembered: &'a OfServer<'a>,
    pub(super) versions: Versions,
}

impl<'a> Reader<'a> {
    pub(super) fn new(session: &'a mut Session, remembered: &'a OfServer<'a>) -> Self {
        Self {
            session,
            remembered,
            versions: Versions::default(),
        }
    }
}

#[async_trait]
impl ClassReader for Reader<'_> {
    async fn days(&mut self, days: Vec<DayOf>) -> Result<Vec<(DayOf, PackedDay)>, sqlx::Error> {
        let (days, whose): (Vec<i32>, Vec<i64>) = days.into_iter().unzip();
        let rows: Vec<VersionedRow> = sqlx::query("SELECT * FROM read_class_days($1, $2)")
            .bind(days)
            .bind(whose)
            .fetch_all(&mut *self.session)
            .await?
            .tuples()?;
        let day = |(day, whose, bots, ended, quarters, version): VersionedRow| {
            let (day, packed) = packed_day((day, whose, bots, ended, quarters));
            self.versions.insert(day, version);
            (day, packed)
        };
        Ok(rows.into_iter().map(day).collect())
    }

    async fn known_ids(&mut self, classes: &[Arc<ClickClass>]) -> Result<ClassIds, sqlx::Error> {
        self.remembered.ids(self.session, classes).await
    }

    async fn new_ids(&mut self, classes: &[Arc<ClickClass>]) -> Result<ClassIds, sqlx::Error> {
        new_ids(self.session, classes).await
    }

    async fn classes(&mut self, ids: Vec<i32>) -> Result<ClassesById, sqlx::Error> {
        self.remembered.classes(self.session, ids).await
    }

    async fn pruned(&mut self) -> Result<DayOf, sqlx::Error> {
        sqlx::query_as("SELECT day, whose FROM class_days_pruned")
            .fetch_one(&mut *self.session)
            .await
    }

    async fn growth(&mut self) -> Result<Vec<(i32, i64)>, sqlx::Error> {
        sqlx::query("SELECT at, new_rows FROM click_detail_growth")
            .fetch_all(&mut *self.session)
            .await?
            .tuples()
    }
}

pub(super) fn packed_day((day, whose, bots, ended, quarters): DayRow) -> (DayOf, PackedDay) {
    let packed = PackedDay {
        bots,
        ended,
        quarters,
    };
    ((day, whose), packed)
}

/// Writes days over the rows of these versions, in rising order; returns the days whose row another transaction has changed or made
/// meanwhile, which are not written.
pub(super) async fn write(
    session: &mut Session,
    days: Vec<(DayOf, ClassDay)>,
    versions: &Versions,
) -> Result<Vec<DayOf>, sqlx::Error> {
    let mut left: Vec<DayOf> = days.iter().map(|(day, _)| *day).collect();
    if left.is_empty() {
        return Ok(left);
    }
    let (mut columns, mut versions_of) = ((Vec::new(), Vec::new()), Vec::new());
    let mut packed = (Vec::new(), Vec::new(), Vec::new());
    for (key, day) in days {
        columns.0.push(key.0);
        columns.1.push(key.1);
        versions_of.push(versions.get(&key).map(String::as_str));
        let has_new_ended = day.has_new_ended();
        let day = day.packed();
        packed.0.push(day.bots);
        packed.1.push(has_new_ended.then_some(day.ended));
        packed.2.push(day.quarters);
    }
    let mut written: Vec<DayOf> =
        sqlx::query("SELECT at, of_whose FROM write_class_days($1, $2, $3, $4, $5, $6)")
            .bind(columns.0)
            .bind(columns.1)
            .bind(versions_of)
            .bind(packed.0)
            .bind(packed.1)
            .bind(packed.2)
            .fetch_all(session)
            .await?
            .tuples()?;
    written.sort_unstable();
    left.retain(|day| written.binary_search(day).is_err());
    Ok(left)
}

/// Writes quarters that leave the row of their day.
pub(super) async fn write_quarters(
    session: &mut Session,
    left: Vec<(DayOf, Vec<u8>)>,
) -> Result<(), sqlx::Error> {
    if left.is_empty() {
        return Ok(());
    }
    let (days, quarters): (Vec<DayOf>, Vec<Vec<u8>>) = left.into_iter().unzip();
    let (days, whose): (Vec<i32>, Vec<i64>) = days.into_iter().unzip();
    sqlx::query("INSERT INTO class_quarters (day, whose, quarters) SELECT * FROM unnest($1::integer[], $2::bigint[], $3::bytea[])")
        .bind(days)
        .bind(whose)
        .bind(quarters)
        .execute(session)
        .await?;
    Ok(())
}

/// Adds to the number of new classes of each day, and forgets days long before. The last statement of its transaction: others wait.
pub(super) async fn note_growth(
    session: &mut Session,
    mut new_rows: Vec<(i32, i64)>,
) -> Result<(), sqlx::Error> {
    new_rows.sort_unstable();
    let (days, rows): (Vec<i32>, Vec<i64>) = new_rows.into_iter().unzip();
    let Some(newest) = days.iter().max().copied() else {
        return Ok(());
    };
    sqlx::query(
        "WITH forgotten AS (DELETE FROM click_detail_growth WHERE at < $3)
         INSERT INTO click_detail_growth SELECT * FROM unnest($1::integer[], $2::bigint[])
         ON CONFLICT (at) DO UPDATE SET new_rows = click_detail_growth.new_rows + excluded.new_rows",
    )
    .bind(days)
    .bind(rows)
    .bind(newest - GROWTH_KEPT)
    .execute(session)
    .await?;
    Ok(())
}
