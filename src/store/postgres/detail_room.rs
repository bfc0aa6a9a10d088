//! The limit on rows of visitor classes in Postgres, and the IDs of the classes.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::session::Session;
use crate::domain::ClickClass;
use crate::store::detail_room::{QuarterRow, Room};
use crate::store::details::{GROWTH_KEPT, MAX_CLASSES};
use crate::store::summing::{Added, class, columns};

/// `id` and the six values.
type ClassRow = (i32, String, String, String, String, String, String);

/// The room that there is for these rows of intervals.
pub(super) async fn room(
    session: &mut Session,
    rows: &Added,
    rows_per_day: u64,
) -> Result<Room, sqlx::Error> {
    let found: Vec<QuarterRow> = sqlx::query_as(
        "SELECT link_id, at, class_id FROM unnest($1::bigint[], $2::integer[], $3::integer[]) AS asked (link_id, at, class_id)
         JOIN link_details USING (link_id, at, class_id)",
    )
    .bind(&rows.keys)
    .bind(&rows.times)
    .bind(&rows.classes)
    .fetch_all(&mut *session)
    .await?;
    let of_intervals: Vec<(i64, i32, i64)> = sqlx::query_as(
        "SELECT link_id, at, (SELECT count(*) FROM link_details AS d WHERE d.link_id = asked.link_id AND d.at = asked.at)
         FROM (SELECT DISTINCT link_id, at FROM unnest($1::bigint[], $2::integer[]) AS rows (link_id, at)) AS asked",
    )
    .bind(&rows.keys)
    .bind(&rows.times)
    .fetch_all(&mut *session)
    .await?;
    let of_days: Vec<(i32, i64)> = sqlx::query_as("SELECT at, new_rows FROM click_detail_growth")
        .fetch_all(session)
        .await?;
    Ok(Room::new(found, of_intervals, of_days, rows_per_day))
}

/// Adds to the number of new rows of each day, and forgets days long before.
pub(super) async fn note_growth(
    session: &mut Session,
    new_rows: Vec<(i32, i64)>,
) -> Result<(), sqlx::Error> {
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

/// How many batches and parts of flushes the queue had no room for, ever.
pub(super) async fn dropped(session: &mut Session) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM click_details_dropped",
    )
    .fetch_one(session)
    .await
}

/// The number of each class, which is made where it has none and there is room for it.
pub(super) async fn class_ids(
    session: &mut Session,
    classes: BTreeSet<Arc<ClickClass>>,
) -> Result<HashMap<ClickClass, i32>, sqlx::Error> {
    const KNOWN: &str = "SELECT id, referrer, country, browser, os, device, bot
        FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
            AS asked (referrer, country, browser, os, device, bot)
        JOIN click_classes USING (referrer, country, browser, os, device, bot)";
    const NEW: &str = "INSERT INTO click_classes (referrer, country, browser, os, device, bot)
        SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
        WHERE (SELECT coalesce(max(id), 0) FROM click_classes) < $7
        ON CONFLICT DO NOTHING RETURNING id, referrer, country, browser, os, device, bot";
    let mut ids = HashMap::new();
    // Only what is not known is inserted: an insertion that finds its row uses a number up.
    for (statement, most) in [(KNOWN, None), (NEW, Some(MAX_CLASSES))] {
        let mut values: [Vec<String>; 6] = Default::default();
        for class in classes.iter().filter(|class| !ids.contains_key(&***class)) {
            for (column, value) in values.iter_mut().zip(columns(class)) {
                column.push(value);
            }
        }
        if values[0].is_empty() {
            break;
        }
        let mut asked = sqlx::query_as(statement);
        for column in values {
            asked = asked.bind(column);
        }
        if let Some(most) = most {
            asked = asked.bind(most);
        }
        let found: Vec<ClassRow> = asked.fetch_all(&mut *session).await?;
        for (id, referrer, country, browser, os, device, bot) in found {
            ids.insert(
                class([&referrer, &country, &browser, &os, &device, &bot]),
                id,
            );
        }
    }
    Ok(ids)
}
