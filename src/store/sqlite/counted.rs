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

/// The recorder of batches whose clicks are counted without the journal.
pub(super) const COUNTED_AT_ONCE: i64 = -1;

/// The recorder of the clicks with which links start: the feeds of events have them with the link.
const STARTING: i64 = -2;

/// The recorder of clicks that are counted without the journal, and of which no class is kept: they wait for the feeds of events only.
pub(super) const WITHOUT_CLASSES: i64 = -3;

/// A batch of a recorder of its own, whose batches are in the counts. For classes it has no more than 100,000 of them, and large ones
/// only while it has few. No number comes again while batches up to it are being removed.
const NOTE: &str = "
    INSERT INTO click_journal (recorder, number, parked, interval, clicks, details)
    SELECT ?3, newest + 1, 0, ?1, '{}', ?2 FROM (
        SELECT max(coalesce((SELECT max(number) FROM click_journal WHERE recorder = ?3), 0),
                coalesce((SELECT last_batch FROM click_details_cuts WHERE recorder = ?3), 0),
                coalesce((SELECT told FROM click_recorders WHERE recorder = ?3 AND told < 9223372036854775807), 0)) AS newest,
            (SELECT min(number) FROM click_journal WHERE recorder = ?3) AS oldest
    ) WHERE ?3 = -3 OR oldest IS NULL OR newest - oldest < CASE WHEN length(?2) > 65536 THEN 2000 ELSE 100000 END";

/// Notes clicks that are counted in this transaction without the journal: for the feeds of events, and their classes, if there are any,
/// to be summed later.
pub(in crate::store) async fn insert_classes(
    transaction: &mut SqliteConnection,
    details: &ClickDetails,
    clicks: &[(LinkId, u64)],
    interval: Interval,
) -> Result<(), sqlx::Error> {
    let complete = details.fitted_to(clicks);
    if !details.is_empty() && note(transaction, COUNTED_AT_ONCE, &complete, interval).await? {
        return Ok(());
    }
    let complete = complete.without_classes();
    note(transaction, WITHOUT_CLASSES, &complete, interval).await?;
    Ok(())
}

/// Notes the classes of clicks with which links start.
pub(in crate::store) async fn insert_starting_classes(
    transaction: &mut SqliteConnection,
    details: &ClickDetails,
    interval: Interval,
) -> Result<(), sqlx::Error> {
    note(transaction, STARTING, details, interval).await?;
    Ok(())
}

/// Returns whether there was room.
async fn note(
    transaction: &mut SqliteConnection,
    recorder: i64,
    details: &ClickDetails,
    interval: Interval,
) -> Result<bool, sqlx::Error> {
    let Some(packed) = packed(details) else {
        return Ok(true);
    };
    let noted = sqlx::query(NOTE)
        .bind(interval.number())
        .bind(packed)
        .bind(recorder)
        .execute(transaction)
        .await?;
    let has_room = noted.rows_affected() > 0;
    if !has_room {
        counter!(CLASSES_DROPPED).increment(1);
    }
    Ok(has_room)
}
