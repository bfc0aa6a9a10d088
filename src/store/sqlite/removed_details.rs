//! Removal of the classes of deleted links and accounts in SQLite, in steps.

use sqlx::SqliteConnection;

use crate::store::StoreError;

/// Removes some rows of one link, also from the sums of its owner; returns whether more may be left.
pub(super) async fn remove_of_deleted(
    transaction: &mut SqliteConnection,
    limit: u32,
) -> Result<bool, StoreError> {
    // Not before the account's own row is gone where that is deleted, too: its sums are removed with the last of its links.
    let deleted: Option<(i64, i64)> = sqlx::query_as(
        "SELECT link_id, owner_id FROM deleted_details
         WHERE owner_id NOT IN (SELECT user_id FROM deleted_users) ORDER BY link_id LIMIT 1",
    )
    .fetch_optional(&mut *transaction)
    .await?;
    let Some((link, owner)) = deleted else {
        return Ok(false);
    };
    let mut removed = 0;
    for statements in [
        [
            "UPDATE owner_details AS sums SET clicks = sums.clicks - gone.clicks FROM (
                 SELECT at, class_id, clicks FROM link_details WHERE link_id = ?1 ORDER BY at, class_id LIMIT ?3) AS gone
             WHERE owner_id = ?2 AND sums.at = gone.at AND sums.class_id = gone.class_id",
            "DELETE FROM link_details WHERE (link_id, at, class_id) IN (
                 SELECT link_id, at, class_id FROM link_details WHERE link_id = ?1 ORDER BY at, class_id LIMIT ?3)
             AND ?2 IS NOT NULL",
        ],
        [
            "UPDATE owner_detail_days AS sums SET clicks = sums.clicks - gone.clicks FROM (
                 SELECT at, class_id, clicks FROM link_detail_days WHERE link_id = ?1 ORDER BY at, class_id LIMIT ?3) AS gone
             WHERE owner_id = ?2 AND sums.at = gone.at AND sums.class_id = gone.class_id",
            "DELETE FROM link_detail_days WHERE (link_id, at, class_id) IN (
                 SELECT link_id, at, class_id FROM link_detail_days WHERE link_id = ?1 ORDER BY at, class_id LIMIT ?3)
             AND ?2 IS NOT NULL",
        ],
        [
            "DELETE FROM owner_details WHERE (owner_id, at, class_id) IN (
                 SELECT owner_id, at, class_id FROM owner_details WHERE owner_id = ?2 LIMIT ?3)
             AND NOT EXISTS (SELECT 1 FROM users WHERE id = ?2) AND ?1 IS NOT NULL",
            "DELETE FROM owner_detail_days WHERE (owner_id, at, class_id) IN (
                 SELECT owner_id, at, class_id FROM owner_detail_days WHERE owner_id = ?2 LIMIT ?3)
             AND NOT EXISTS (SELECT 1 FROM users WHERE id = ?2) AND ?1 IS NOT NULL",
        ],
    ] {
        for statement in statements {
            let changed = sqlx::query(statement)
                .bind(link)
                .bind(owner)
                .bind(limit)
                .execute(&mut *transaction)
                .await?;
            removed += changed.rows_affected();
        }
    }
    let bots = sqlx::query(
        "DELETE FROM link_bots WHERE (link_id, interval) IN (SELECT link_id, interval FROM link_bots WHERE link_id = ?1 LIMIT ?2)",
    )
    .bind(link)
    .bind(limit)
    .execute(&mut *transaction)
    .await?;
    if removed + bots.rows_affected() == 0 {
        sqlx::query("DELETE FROM deleted_details WHERE link_id = ?1")
            .bind(link)
            .execute(transaction)
            .await?;
    }
    Ok(true)
}
