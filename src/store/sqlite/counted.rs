//! Adds clicks to links, and to the sums of their intervals.

use metrics::counter;
use sqlx::SqliteConnection;

use super::batch::to_json;
use super::owner_series;
use crate::domain::{Interval, LinkId};
use crate::store::ClickDetails;
use crate::store::click_rows::packed;
use crate::telemetry::metrics::CLASSES_DROPPED;

/// Four statements in one message to the connection's thread: each message is two switches of threads.
const COUNT: &str = concat!(
    // First clicks that come late, while it can be seen that they do.
    "INSERT INTO link_series (link_id, interval, clicks)
     SELECT links.id, ?2, pair.value FROM json_each(?1) AS pair JOIN links ON links.id = CAST(pair.key AS INTEGER)
     WHERE links.interval > ?2
     ON CONFLICT (link_id, interval) DO UPDATE SET clicks = link_series.clicks + excluded.clicks;
     UPDATE links SET clicks = links.clicks + pair.value, interval = max(interval, ?2),
         in_interval = CASE WHEN interval = ?2 THEN in_interval + pair.value WHEN interval < ?2 THEN pair.value
             ELSE in_interval END
     FROM json_each(?1) AS pair WHERE links.id = CAST(pair.key AS INTEGER);",
    owner_series::add!()
);

/// Adds the clicks of one interval to the links, each named once, and to the sums of their owners; deleted ones are passed over. A
/// trigger keeps the sum of the interval that a newer one ends.
pub(in crate::store) async fn count_clicks(
    transaction: &mut SqliteConnection,
    clicks: &[(LinkId, u64)],
    interval: Interval,
) -> Result<(), sqlx::Error> {
    sqlx::query(COUNT)
        .bind(to_json(clicks.iter().copied()))
        .bind(interval.number())
        .execute(transaction)
        .await?;
    Ok(())
}

/// A batch of a recorder of its own, whose batches are in the counts. It has no more than 100,000 of them, and large ones only while it
/// has few. No number comes again while batches up to it are being removed.
const NOTE: &str = "
    INSERT INTO click_journal (recorder, number, parked, interval, clicks, details)
    SELECT -1, newest + 1, 0, ?1, '{}', ?2 FROM (
        SELECT max(coalesce((SELECT max(number) FROM click_journal WHERE recorder = -1), 0),
                coalesce((SELECT last_batch FROM click_details_cuts WHERE recorder = -1), 0)) AS newest,
            (SELECT min(number) FROM click_journal WHERE recorder = -1) AS oldest
    ) WHERE oldest IS NULL OR newest - oldest < CASE WHEN length(?2) > 65536 THEN 2000 ELSE 100000 END";

/// Notes the classes of clicks that are counted in this transaction without the journal, to be summed later.
pub(in crate::store) async fn insert_classes(
    transaction: &mut SqliteConnection,
    details: &ClickDetails,
    interval: Interval,
) -> Result<(), sqlx::Error> {
    let Some(packed) = packed(details) else {
        return Ok(());
    };
    let noted = sqlx::query(NOTE)
        .bind(interval.number())
        .bind(packed)
        .execute(transaction)
        .await?;
    if noted.rows_affected() == 0 {
        counter!(CLASSES_DROPPED).increment(1);
    }
    Ok(())
}
