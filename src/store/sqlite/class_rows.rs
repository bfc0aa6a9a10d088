//! The rows of some sums of classes in SQLite: what they need to be known is read first, by a thread of low priority, so that the
//! one writer, for which clicks wait, has nothing to do but to write.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;
use sqlx::SqliteConnection;

use super::class_days::{DayRows, read_days, write_days};
use super::class_ids::{classes, known_classes, new_classes};
use super::one_row::{in_one_row, read};
use crate::domain::ClickClass;
use crate::store::class_day::PackedDay;
use crate::store::class_merge::{ClassReader, merge};
use crate::store::click_rows::packed;
use crate::store::detail_room::number;
use crate::store::details::GROWTH_KEPT;
use crate::store::summing::{ClassIds, ClassRow, ClassesById, DayOf, Owners, Referrers, Sum, Sums};

/// How many classes and days are remembered. Beyond, all of them are forgotten, and read again when they are needed.
const MAX_CLASSES: usize = 65_536;
const MAX_DAYS_OF_OWNERS: usize = 1_000;

/// In how many intervals clicks were that are mostly summed together: a new one may just have begun.
const INTERVALS_AT_ONCE: usize = 2;

/// What was read for the steps before: only these steps add to it.
#[derive(Default)]
pub(super) struct Remembered {
    classes: ClassIds,
    /// Referrers of owners, also the newest of their links, which are not in the owners' rows yet.
    of_owners: Referrers,
    growth: Option<Vec<(i32, i64)>>,
    pruned: Option<DayOf>,
}

impl Remembered {
    /// Forgets what changes when the sums of owners are written, and when days are pruned.
    pub(super) fn forget_days(&mut self) {
        self.of_owners.clear();
        self.pruned = None;
    }
}

/// Rows that are ready to be written.
pub(super) struct ClassRows {
    days: DayRows,
    classes: Vec<ClassRow>,
    growth: Vec<(i32, i64)>,
    /// What the owners of these links get, by interval.
    of_owners: Vec<(i32, Vec<u8>)>,
    /// Clicks for whose class there was no room.
    pub(super) unclassified: u64,
}

/// In one message to the connection's thread, with the first of the days: each message is two switches of threads. Values are bound one
/// after the other, through all of the statements.
const ADD: &str = concat!(
    "INSERT INTO click_classes (id, referrer, country, browser, os, device, rule, code, bot)
     SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6,
         value ->> 7, value ->> 8 FROM json_each(?);
     DELETE FROM click_detail_growth WHERE at < ?;
     INSERT INTO click_detail_growth SELECT value ->> 0, value ->> 1 FROM json_each(?) WHERE true
     ON CONFLICT (at) DO UPDATE SET new_rows = new_rows + excluded.new_rows;
     INSERT INTO click_details_of_owners (interval, details)
     SELECT column1, column2 FROM (VALUES (?, ?), (?, ?)) WHERE column2 IS NOT NULL;",
    write_days!()
);

const OWNERS: &str = in_one_row!(
    "id, owner_id",
    "SELECT id, CASE WHEN made_by IS NULL THEN owner_id ELSE coalesce((SELECT id FROM users WHERE users.id = made_by), 0) END AS owner_id
     FROM links WHERE id IN (SELECT value FROM json_each(?1))"
);

/// Reads what is not remembered.
pub(super) struct Reader<'a> {
    connection: &'a mut SqliteConnection,
    remembered: &'a mut Remembered,
    new_classes: Vec<ClassRow>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        connection: &'a mut SqliteConnection,
        remembered: &'a mut Remembered,
    ) -> Self {
        Self {
            connection,
            remembered,
            new_classes: Vec::new(),
        }
    }
}

#[async_trait]
impl ClassReader for Reader<'_> {
    async fn days(&mut self, days: Vec<DayOf>) -> Result<Vec<(DayOf, PackedDay)>, sqlx::Error> {
        read_days(self.connection, &days).await
    }

    fn remembered(&mut self, day: DayOf) -> Option<HashSet<String>> {
        self.remembered.of_owners.remove(&day)
    }

    fn remember(&mut self, of_owners: Referrers) {
        self.remembered.of_owners.extend(of_owners);
    }

    async fn known_ids(&mut self, classes: &[Arc<ClickClass>]) -> Result<ClassIds, sqlx::Error> {
        let ids = &mut self.remembered.classes;
        let mut unknown = classes.to_vec();
        unknown.retain(|class| !ids.contains_key(class));
        if !unknown.is_empty() {
            ids.extend(known_classes(self.connection, &unknown).await?);
        }
        let classes = classes.iter();
        let known = classes.filter_map(|class| Some((Arc::clone(class), *ids.get(class)?)));
        Ok(known.collect())
    }

    async fn new_ids(&mut self, classes: &[Arc<ClickClass>]) -> Result<ClassIds, sqlx::Error> {
        let (ids, rows) = new_classes(self.connection, classes).await?;
        self.new_classes.extend(rows);
        self.remembered.classes.extend(ids.clone());
        Ok(ids)
    }

    async fn classes(&mut self, ids: Vec<i32>) -> Result<ClassesById, sqlx::Error> {
        classes(self.connection, &ids).await
    }

    async fn pruned(&mut self) -> Result<DayOf, sqlx::Error> {
        self.remembered.pruned(self.connection).await
    }

    async fn growth(&mut self) -> Result<Vec<(i32, i64)>, sqlx::Error> {
        if let Some(growth) = &self.remembered.growth {
            return Ok(growth.clone());
        }
        let found = sqlx::query_as("SELECT at, new_rows FROM click_detail_growth");
        let found: Vec<(i32, i64)> = found.fetch_all(&mut *self.connection).await?;
        Ok(self.remembered.growth.insert(found).clone())
    }
}

impl ClassRows {
    /// The rows of some sums of links, as far as there is room for them. Links without an owner are deleted, and left out.
    pub(super) async fn of_links(
        part: Vec<Sum>,
        rows_per_day: u64,
        remembered: &mut Remembered,
        reader: &mut SqliteConnection,
    ) -> Result<Self, sqlx::Error> {
        let mut sums = Sums::new(part);
        let owners: Vec<(i64, i64)> =
            read(reader, OWNERS, &json!(sums.whose()).to_string()).await?;
        let owners = Owners::new(owners);
        sums.retain_owned(&owners);
        Self::of(sums, &owners, rows_per_day, remembered, reader).await
    }

    /// The same of sums of owners. What their links had room for, they have.
    pub(super) async fn of_owners(
        part: Vec<Sum>,
        remembered: &mut Remembered,
        reader: &mut SqliteConnection,
    ) -> Result<Self, sqlx::Error> {
        let sums = Sums::new(part);
        Self::of(sums, &Owners::default(), u64::MAX, remembered, reader).await
    }

    async fn of(
        sums: Sums,
        owners: &Owners,
        rows_per_day: u64,
        remembered: &mut Remembered,
        connection: &mut SqliteConnection,
    ) -> Result<Self, sqlx::Error> {
        remembered.bound();
        let mut reader = Reader::new(connection, remembered);
        let merged = merge(&mut reader, sums, owners, rows_per_day).await?;
        let classes = reader.new_classes;
        let of_owners = merged.sums.of_owners(owners);
        remembered.add(&merged.growth);
        Ok(Self {
            days: DayRows::of(merged.days, merged.left),
            classes,
            growth: merged.growth,
            of_owners: of_owners
                .details()
                .into_iter()
                .filter_map(|(interval, details)| Some((interval, packed(&details)?)))
                .collect(),
            unclassified: merged.unclassified,
        })
    }

    pub(super) async fn add(&self, transaction: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        let mut add = sqlx::query(ADD)
            .bind(json!(self.classes).to_string())
            .bind(self.growth.iter().map(|(day, _)| day - GROWTH_KEPT).max())
            .bind(json!(self.growth).to_string());
        let (first, further) = self
            .of_owners
            .split_at(self.of_owners.len().min(INTERVALS_AT_ONCE));
        for place in 0..INTERVALS_AT_ONCE {
            let row = first.get(place);
            add = add
                .bind(row.map(|(interval, _)| interval))
                .bind(row.map(|(_, details)| &details[..]));
        }
        self.days.write_with(add, transaction).await?;
        for (interval, details) in further {
            sqlx::query("INSERT INTO click_details_of_owners (interval, details) VALUES (?1, ?2)")
                .bind(interval)
                .bind(&details[..])
                .execute(&mut *transaction)
                .await?;
        }
        Ok(())
    }
}

impl Remembered {
    fn bound(&mut self) {
        if self.classes.len() > MAX_CLASSES {
            self.classes.clear();
        }
        if self.of_owners.len() > MAX_DAYS_OF_OWNERS {
            self.of_owners.clear();
        }
    }

    /// The last day of which only the whole is kept, also of clicks that come late.
    async fn pruned(&mut self, reader: &mut SqliteConnection) -> Result<DayOf, sqlx::Error> {
        if let Some(pruned) = self.pruned {
            return Ok(pruned);
        }
        let pruned = sqlx::query_as("SELECT day, whose FROM class_days_pruned");
        Ok(*self.pruned.insert(pruned.fetch_one(reader).await?))
    }

    fn add(&mut self, growth: &[(i32, i64)]) {
        if let Some(known) = &mut self.growth {
            for (day, new) in growth {
                *number(known, *day) += new;
            }
        }
    }
}
