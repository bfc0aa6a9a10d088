//! The limit on rows of visitor classes in SQLite, and the IDs of the classes.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use serde_json::json;
use sqlx::SqliteConnection;

use super::by_time::by_time;
use super::one_row::{in_one_row, read};
use crate::domain::ClickClass;
use crate::store::StoreError;
use crate::store::detail_room::{QuarterRow, Room};
use crate::store::details::MAX_CLASSES;
use crate::store::summing::{Added, class, columns};

/// `id` and the six values.
pub(super) type ClassRow = (i32, String, String, String, String, String, String);

/// The rows of [`by_time`] that are missing in the table.
const MISSING: &str = in_one_row!(
    "link, time, class",
    "SELECT link, time, class FROM (
         SELECT CAST(pair.key AS INTEGER) AS link, CAST(times.key AS INTEGER) AS time, pair.value >> 39 AS class
         FROM json_each(?1) AS times, json_each(times.value) AS pair) AS wanted
     WHERE NOT EXISTS (SELECT 1 FROM link_details WHERE link_id = link AND at = time AND class_id = class)"
);

const OF_QUARTERS: &str = in_one_row!(
    "link, interval, rows",
    "SELECT link, interval, (SELECT count(*) FROM link_details WHERE link_id = link AND at = interval) AS rows
     FROM (SELECT value ->> 0 AS link, value ->> 1 AS interval FROM json_each(?1))"
);

const KNOWN_CLASSES: &str = in_one_row!(
    "id, referrer, country, browser, os, device, bot",
    "SELECT id, referrer, country, browser, os, device, bot FROM click_classes
     WHERE (referrer, country, browser, os, device, bot) IN (
         SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5 FROM json_each(?1))"
);

/// The room that there is for rows of intervals; `None` if all of them are there already, and need none.
pub(super) async fn room(
    reader: &mut SqliteConnection,
    rows: &Added,
    rows_per_day: u64,
) -> Result<Option<Room>, StoreError> {
    let missing: Vec<QuarterRow> = read(reader, MISSING, &by_time(rows)).await?;
    if missing.is_empty() {
        return Ok(None);
    }
    let missing: HashSet<_> = missing.into_iter().collect();
    let keys = rows.keys.iter().zip(&rows.times).zip(&rows.classes);
    let rows = keys.map(|((link, time), class)| (*link, *time, *class));
    let found = rows.filter(|row| !missing.contains(row)).collect();
    let of_intervals: BTreeSet<_> = missing.iter().map(|(link, time, _)| (link, time)).collect();
    let of_intervals: Vec<(i64, i32, i64)> =
        read(reader, OF_QUARTERS, &json!(of_intervals).to_string()).await?;
    let of_days: Vec<(i32, i64)> = sqlx::query_as("SELECT at, new_rows FROM click_detail_growth")
        .fetch_all(reader)
        .await?;
    Ok(Some(Room::new(found, of_intervals, of_days, rows_per_day)))
}

/// How many batches and parts of flushes the queue had no room for, ever.
pub(super) async fn dropped(reader: &mut SqliteConnection) -> Result<i64, StoreError> {
    let rows = sqlx::query_scalar("SELECT rows FROM click_details_dropped");
    Ok(rows.fetch_one(reader).await?)
}

/// The numbers of those classes that have one.
pub(super) async fn known_classes(
    reader: &mut SqliteConnection,
    classes: &BTreeSet<Arc<ClickClass>>,
) -> Result<HashMap<ClickClass, i32>, StoreError> {
    let asked: Vec<_> = classes.iter().map(|class| columns(class)).collect();
    let found: Vec<ClassRow> = read(reader, KNOWN_CLASSES, &json!(asked).to_string()).await?;
    let with_id = |(id, referrer, country, browser, os, device, bot): ClassRow| {
        (
            class([&referrer, &country, &browser, &os, &device, &bot]),
            id,
        )
    };
    Ok(found.into_iter().map(with_id).collect())
}

/// Gives a number to those classes that have none, as far as there is room. Returns them as they are to be written. Only one step at a
/// time gives numbers.
pub(super) async fn new_classes(
    reader: &mut SqliteConnection,
    classes: &BTreeSet<Arc<ClickClass>>,
    ids: &mut HashMap<ClickClass, i32>,
) -> Result<Vec<ClassRow>, StoreError> {
    let mut newest: i32 = sqlx::query_scalar("SELECT coalesce(max(id), 0) FROM click_classes")
        .fetch_one(reader)
        .await?;
    if newest >= MAX_CLASSES {
        return Ok(Vec::new());
    }
    let mut new = Vec::new();
    for class in classes {
        if !ids.contains_key(&**class) {
            newest += 1;
            ids.insert((**class).clone(), newest);
            let [referrer, country, browser, os, device, bot] = columns(class);
            new.push((newest, referrer, country, browser, os, device, bot));
        }
    }
    Ok(new)
}
