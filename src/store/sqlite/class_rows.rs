//! The rows of some sums of classes in SQLite: what they need to be known is read first, by a thread of low priority, so that the
//! one writer, for which clicks wait, has nothing to do but to write.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::json;
use sqlx::SqliteConnection;

use super::by_time::by_time;
use super::detail_room::{known_classes, new_classes, room};
use super::one_row::{in_one_row, read};
use crate::domain::ClickClass;
use crate::store::StoreError;
use crate::store::details::GROWTH_KEPT;
use crate::store::summing::{DayOf, OfClass, Referrers, Sums};

/// How many classes and days are remembered. Beyond, all of them are forgotten, and read again when they are needed.
const MAX_CLASSES: usize = 65_536;
const MAX_DAYS_OF_LINKS: usize = 1_000;
const MAX_DAYS_OF_OWNERS: usize = 100;

/// What was read for the steps before: only these steps add to it.
#[derive(Default)]
pub(super) struct Remembered {
    classes: HashMap<ClickClass, i32>,
    referrers_of_links: Referrers,
    referrers_of_owners: Referrers,
}

/// Rows that are ready to be written, as JSON.
pub(super) struct ClassRows {
    /// `[link, …]`
    links: String,
    /// The first and the last of them.
    range: (i64, i64),
    classes: String,
    growth: String,
    growth_kept_from: Option<i32>,
    tables: [String; 5],
    /// Clicks for whose class there was no room.
    pub(super) unclassified: u64,
}

/// Adds rows of [`by_time`] to a table whose key is a column of this name.
macro_rules! add {
    ($table:literal, $key:literal) => {
        concat!(
            "INSERT INTO ",
            $table,
            " (",
            $key,
            ", at, class_id, clicks)
             SELECT CAST(pair.key AS INTEGER), CAST(times.key AS INTEGER), pair.value >> 39,
                 (pair.value & 274877906943) << (38 * ((pair.value >> 38) & 1))
             FROM json_each(?) AS times, json_each(times.value) AS pair WHERE true
             ON CONFLICT (",
            $key,
            ", at, class_id) DO UPDATE SET clicks = clicks + excluded.clicks;"
        )
    };
}

/// Values are bound one after the other, through all of the statements.
const ADD: &str = concat!(
    "INSERT INTO click_classes (id, referrer, country, browser, os, device, bot)
     SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6 FROM json_each(?);
     DELETE FROM click_detail_growth WHERE at < ?;
     INSERT INTO click_detail_growth SELECT value ->> 0, value ->> 1 FROM json_each(?) WHERE true
     ON CONFLICT (at) DO UPDATE SET new_rows = new_rows + excluded.new_rows;",
    add!("link_details", "link_id"),
    add!("link_detail_days", "link_id"),
    add!("owner_details", "owner_id"),
    add!("owner_detail_days", "owner_id"),
    "INSERT INTO link_bots (link_id, interval, clicks)
     SELECT CAST(pair.key AS INTEGER), CAST(times.key AS INTEGER), (pair.value & 274877906943) << (38 * ((pair.value >> 38) & 1))
     FROM json_each(?) AS times, json_each(times.value) AS pair WHERE true
     ON CONFLICT (link_id, interval) DO UPDATE SET clicks = clicks + excluded.clicks"
);

const OWNERS: &str = in_one_row!(
    "id, owner_id",
    "SELECT id, owner_id FROM links WHERE id IN (SELECT value FROM json_each(?1))"
);

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

impl ClassRows {
    /// The rows of some sums, as far as there is room for them.
    pub(super) async fn of(
        part: impl IntoIterator<Item = (OfClass, u64)>,
        rows_per_day: u64,
        remembered: &mut Remembered,
        reader: &mut SqliteConnection,
    ) -> Result<Self, StoreError> {
        let sums = Sums::of_classes(part);
        let owners: Vec<(i64, i64)> =
            read(reader, OWNERS, &json!(sums.links()).to_string()).await?;
        let owners: HashMap<_, _> = owners.into_iter().collect();
        let Remembered {
            classes: ids,
            referrers_of_links: of_links,
            referrers_of_owners: of_owners,
        } = remembered;
        let (days_of_links, days_of_owners) = sums.days_with_referrers(&owners);
        for (statement, days, known, most) in [
            (
                REFERRERS_OF_LINKS,
                days_of_links,
                &mut *of_links,
                MAX_DAYS_OF_LINKS,
            ),
            (
                REFERRERS_OF_OWNERS,
                days_of_owners,
                &mut *of_owners,
                MAX_DAYS_OF_OWNERS,
            ),
        ] {
            if known.len() > most {
                known.clear();
            }
            read_referrers(reader, statement, days, known).await?;
        }
        let sums = sums.bound(&owners, of_links, of_owners);
        if ids.len() > MAX_CLASSES {
            ids.clear();
        }
        let classes = sums.classes();
        let unknown: BTreeSet<_> = classes
            .into_iter()
            .filter(|class| !ids.contains_key(&**class))
            .collect();
        let mut added_classes = Vec::new();
        if !unknown.is_empty() {
            ids.extend(known_classes(reader, &unknown).await?);
            added_classes = new_classes(reader, &unknown, ids).await?;
        }
        let links = sums.links();
        let mut added = sums.rows(&owners, ids);
        let (mut new_rows, mut unclassified) = (Vec::new(), 0);
        // Most rows are there already.
        if let Some(mut room) = room(reader, &added.links, rows_per_day).await? {
            let (fitted, without_room) = sums.fitted(ids, &mut room);
            added = fitted.rows(&owners, ids);
            (new_rows, unclassified) = (room.new_rows(), without_room);
        }
        Ok(Self {
            range: (
                links.first().copied().unwrap_or_default(),
                links.last().copied().unwrap_or(-1),
            ),
            links: json!(links).to_string(),
            classes: json!(added_classes).to_string(),
            growth_kept_from: new_rows.iter().map(|(day, _)| day - GROWTH_KEPT).max(),
            growth: json!(new_rows).to_string(),
            tables: [
                added.links,
                added.link_days,
                added.owners,
                added.owner_days,
                added.bots,
            ]
            .map(|rows| by_time(&rows)),
            unclassified,
        })
    }

    /// Moves the mark of how many sums are added. `false`: it was elsewhere, or one of the links is deleted, and nothing changes.
    pub(super) async fn mark(
        &self,
        transaction: &mut SqliteConnection,
        from: i64,
        to: i64,
    ) -> Result<bool, StoreError> {
        let moved = sqlx::query(
            "UPDATE click_details_summing SET added = ?2 WHERE added = ?1 AND NOT EXISTS (
                 SELECT 1 FROM deleted_details CROSS JOIN json_each(?3) WHERE link_id BETWEEN ?4 AND ?5 AND value = link_id)",
        )
        .bind(from)
        .bind(to)
        .bind(&self.links)
        .bind(self.range.0)
        .bind(self.range.1)
        .execute(transaction)
        .await?;
        Ok(moved.rows_affected() == 1)
    }

    /// Writes the rows, in one message to the connection's thread: each message is two switches of threads.
    pub(super) async fn add(&self, transaction: &mut SqliteConnection) -> Result<(), StoreError> {
        let mut add = sqlx::query(ADD)
            .bind(&self.classes)
            .bind(self.growth_kept_from)
            .bind(&self.growth);
        for table in &self.tables {
            add = add.bind(table);
        }
        add.execute(transaction).await?;
        Ok(())
    }
}

/// Adds the referrers of those days whose referrers are not known.
async fn read_referrers(
    reader: &mut SqliteConnection,
    statement: &'static str,
    mut days: BTreeSet<DayOf>,
    known: &mut Referrers,
) -> Result<(), StoreError> {
    days.retain(|day| !known.contains_key(day));
    if days.is_empty() {
        return Ok(());
    }
    let found: Vec<(i64, i32, String)> = read(reader, statement, &json!(days).to_string()).await?;
    known.extend(days.into_iter().map(|day| (day, HashSet::default())));
    for (id, day, referrer) in found {
        known.entry((id, day)).or_default().insert(referrer);
    }
    Ok(())
}
