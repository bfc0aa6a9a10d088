//! Removal of the classes of deleted links and accounts in Postgres, in steps.

use super::detail_lock::is_alone;
use super::session::Session;

/// How long a deleted link's rows stay: no summing takes so long that saw the link.
const REMOVED_AFTER_MICROS: i64 = 60_000_000;

/// Removes rows of intervals or days of deleted links, and subtracts them from the sums of their owners.
macro_rules! remove {
    ($of_links:literal, $of_owners:literal) => {
        concat!(
            "WITH gone AS (
                 DELETE FROM ", $of_links, " WHERE (link_id, at, class_id) IN (
                     SELECT link_id, at, class_id FROM ", $of_links, " WHERE link_id = ANY ($1) LIMIT $2)
                 RETURNING link_id, at, class_id, clicks
             ),
             less AS (
                 UPDATE ", $of_owners, " AS sums SET clicks = sums.clicks - of_owner.clicks FROM (
                     SELECT owner_id, at, class_id, sum(clicks)::bigint AS clicks FROM gone JOIN deleted_details USING (link_id)
                     GROUP BY owner_id, at, class_id
                 ) AS of_owner
                 WHERE sums.owner_id = of_owner.owner_id AND sums.at = of_owner.at AND sums.class_id = of_owner.class_id
             )
             SELECT count(*) FROM gone"
        )
    };
}

pub(super) async fn remove_of_deleted(
    session: &mut Session,
    limit: i64,
) -> Result<bool, sqlx::Error> {
    if !is_alone(session).await? {
        return Ok(false);
    }
    // Not before the account's own row is gone where that is deleted, too: its sums are removed with the last of its links.
    let links: Vec<i64> = sqlx::query_scalar(
        "SELECT link_id FROM deleted_details WHERE deleted_at < now_micros() - $1
         AND NOT EXISTS (SELECT FROM deleted_users WHERE user_id = owner_id) ORDER BY link_id LIMIT $2",
    )
    .bind(REMOVED_AFTER_MICROS)
    .bind(limit)
    .fetch_all(&mut *session)
    .await?;
    if links.is_empty() {
        return Ok(false);
    }
    let mut removed = 0;
    for statement in [
        remove!("link_details", "owner_details"),
        remove!("link_detail_days", "owner_detail_days"),
        "WITH gone AS (
             DELETE FROM link_bots WHERE (link_id, interval) IN
                 (SELECT link_id, interval FROM link_bots WHERE link_id = ANY ($1) LIMIT $2)
             RETURNING 1
         )
         SELECT count(*) FROM gone",
        "WITH gone AS (
             DELETE FROM owner_details WHERE (owner_id, at, class_id) IN (
                 SELECT owner_id, at, class_id FROM owner_details
                 WHERE owner_id IN (SELECT owner_id FROM deleted_details WHERE link_id = ANY ($1))
                   AND NOT EXISTS (SELECT FROM users WHERE id = owner_id) LIMIT $2)
             RETURNING 1
         )
         SELECT count(*) FROM gone",
        "WITH gone AS (
             DELETE FROM owner_detail_days WHERE (owner_id, at, class_id) IN (
                 SELECT owner_id, at, class_id FROM owner_detail_days
                 WHERE owner_id IN (SELECT owner_id FROM deleted_details WHERE link_id = ANY ($1))
                   AND NOT EXISTS (SELECT FROM users WHERE id = owner_id) LIMIT $2)
             RETURNING 1
         )
         SELECT count(*) FROM gone",
    ] {
        let gone: i64 = sqlx::query_scalar(statement)
            .bind(&links)
            .bind(limit)
            .fetch_one(&mut *session)
            .await?;
        removed += gone;
    }
    if removed == 0 {
        sqlx::query("DELETE FROM deleted_details WHERE link_id = ANY ($1)")
            .bind(links)
            .execute(session)
            .await?;
    }
    Ok(true)
}
