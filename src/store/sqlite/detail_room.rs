//! The limit on rows of visitor classes in SQLite, and the IDs of the classes.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::json;
use sqlx::{QueryBuilder, SqliteConnection};

use super::one_row::{in_one_row, read};
use crate::domain::ClickClass;
use crate::store::StoreError;
use crate::store::detail_room::{QuarterRow, Room};
use crate::store::details::{GROWTH_KEPT, MAX_CLASSES};
use crate::store::summing::{class, columns};

/// `id` and the six values.
type ClassRow = (i32, String, String, String, String, String, String);

const ROWS: &str = in_one_row!(
    "link_id, at, class_id",
    "SELECT link_id, at, class_id FROM json_each(?1)
     JOIN link_details ON link_id = value ->> 0 AND at = value ->> 1 AND class_id = value ->> 2"
);

const OF_QUARTERS: &str = in_one_row!(
    "link, interval, rows",
    "SELECT link, interval, (SELECT count(*) FROM link_details WHERE link_id = link AND at = interval) AS rows
     FROM (SELECT DISTINCT value ->> 0 AS link, value ->> 1 AS interval FROM json_each(?1))"
);

const KNOWN_CLASSES: &str = in_one_row!(
    "id, referrer, country, browser, os, device, bot",
    "SELECT id, referrer, country, browser, os, device, bot FROM click_classes
     WHERE (referrer, country, browser, os, device, bot) IN (
         SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5 FROM json_each(?1))"
);

/// The room that there is for rows of intervals, which are `[[key, time, class, clicks], …]`.
pub(super) async fn room(
    transaction: &mut SqliteConnection,
    rows: &str,
    rows_per_day: u64,
) -> Result<Room, StoreError> {
    let found: Vec<QuarterRow> = read(transaction, ROWS, rows).await?;
    let of_intervals: Vec<(i64, i32, i64)> = read(transaction, OF_QUARTERS, rows).await?;
    let of_days: Vec<(i32, i64)> = sqlx::query_as("SELECT at, new_rows FROM click_detail_growth")
        .fetch_all(transaction)
        .await?;
    Ok(Room::new(found, of_intervals, of_days, rows_per_day))
}

/// Adds to the number of new rows of each day, and forgets days long before.
pub(super) async fn note_growth(
    transaction: &mut SqliteConnection,
    new_rows: Vec<(i32, i64)>,
) -> Result<(), StoreError> {
    let Some(newest) = new_rows.iter().map(|(day, _)| *day).max() else {
        return Ok(());
    };
    sqlx::query("DELETE FROM click_detail_growth WHERE at < ?1")
        .bind(newest - GROWTH_KEPT)
        .execute(&mut *transaction)
        .await?;
    sqlx::query(
        "INSERT INTO click_detail_growth SELECT value ->> 0, value ->> 1 FROM json_each(?1) WHERE true
         ON CONFLICT (at) DO UPDATE SET new_rows = new_rows + excluded.new_rows",
    )
    .bind(json!(new_rows).to_string())
    .execute(transaction)
    .await?;
    Ok(())
}

/// How many batches and parts of flushes the queue had no room for, ever.
pub(super) async fn dropped(transaction: &mut SqliteConnection) -> Result<i64, StoreError> {
    let rows = sqlx::query_scalar("SELECT rows FROM click_details_dropped");
    Ok(rows.fetch_one(transaction).await?)
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

/// Gives a number to those classes that have none, as far as there is room.
pub(super) async fn add_classes(
    transaction: &mut SqliteConnection,
    classes: &BTreeSet<Arc<ClickClass>>,
    ids: &mut HashMap<ClickClass, i32>,
) -> Result<(), StoreError> {
    let newest: i32 = sqlx::query_scalar("SELECT coalesce(max(id), 0) FROM click_classes")
        .fetch_one(&mut *transaction)
        .await?;
    if newest >= MAX_CLASSES {
        return Ok(());
    }
    for class in classes {
        if !ids.contains_key(&**class) {
            ids.insert((**class).clone(), new_class(transaction, class).await?);
        }
    }
    Ok(())
}

/// The number of a class that had none when it was looked for.
async fn new_class(
    transaction: &mut SqliteConnection,
    class: &ClickClass,
) -> Result<i32, StoreError> {
    let mut insert = QueryBuilder::new(
        "INSERT INTO click_classes (referrer, country, browser, os, device, bot) VALUES (",
    );
    let mut values = insert.separated(", ");
    for value in columns(class) {
        values.push_bind(value);
    }
    insert.push(
        ") ON CONFLICT (referrer, country, browser, os, device, bot) DO UPDATE SET bot = excluded.bot RETURNING id",
    );
    Ok(insert.build_query_scalar().fetch_one(transaction).await?)
}
