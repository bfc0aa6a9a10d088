//! Adds clicks to links, and to the sums of their intervals.

use sqlx::SqliteConnection;

use super::batch::to_json;
use super::owner_series;
use crate::domain::{Interval, LinkId};
use crate::store::ClickDetails;
use crate::store::click_rows::packed;

/// Three statements in one message to the connection's thread: each message is two switches of threads.
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

/// Notes the classes of clicks that are counted in this transaction, to be summed later. `limits` are those of grants.
pub(super) async fn queue_details(
    transaction: &mut SqliteConnection,
    details: &ClickDetails,
    interval: Interval,
    limits: Option<&[(LinkId, u64)]>,
) -> Result<(), sqlx::Error> {
    let Some(packed) = packed(details) else {
        return Ok(());
    };
    sqlx::query("INSERT INTO click_detail_queue (interval, details, limits) VALUES (?1, ?2, ?3)")
        .bind(interval.number())
        .bind(packed)
        .bind(limits.map(|limits| to_json(limits.iter().copied())))
        .execute(transaction)
        .await?;
    Ok(())
}
