//! Sums over all links of an owner, in Postgres.
//!
//! Each writer that changes the clicks of links adds a row to `owner_series_log` for each owner and interval, in the same
//! transaction. So writers of one owner never wait for each other. A job adds the rows up in `owner_series`; a sum is read from both
//! tables in one snapshot, and is exact at every moment.

use super::session::Session;

/// Rows of the log that are added up in one transaction.
const ROWS_PER_STEP: i64 = 10_000;

/// Points of all links of an owner that are counted. Bound are the owner's id and key, no tag, and the intervals. Only the log is
/// summed, which is short: grouping the sums of a year, too, takes three times as long.
macro_rules! points_of_owner {
    () => {
        "SELECT 0, '', interval::bigint, n FROM (
                 SELECT interval, coalesce(summed.clicks, 0) + coalesce(logged.clicks, 0) AS n
                 FROM (
                     SELECT interval, clicks FROM owner_series WHERE owner_id = $1 AND interval >= $4 AND interval < $5
                 ) AS summed
                 FULL JOIN (
                     SELECT interval, sum(clicks)::bigint AS clicks FROM owner_series_log
                     WHERE owner_id = $1 AND interval >= $4 AND interval < $5 GROUP BY interval
                 ) AS logged USING (interval)
             ) AS points
             WHERE n > 0 AND $3::text IS NULL AND EXISTS (SELECT FROM account_keys WHERE user_id = $1 AND key = $2)"
    };
}

pub(super) use points_of_owner;

/// Those of known bots among them.
pub(super) const BOTS: &str = "SELECT interval::bigint, n FROM (
         SELECT interval, coalesce(summed.bots, 0) + coalesce(logged.bots, 0) AS n
         FROM (
             SELECT interval, bots FROM owner_series WHERE owner_id = $1 AND interval >= $3 AND interval < $4
         ) AS summed
         FULL JOIN (
             SELECT interval, sum(n)::bigint AS bots FROM (
                 SELECT interval, bots AS n FROM owner_series_log WHERE owner_id = $1 AND interval >= $3 AND interval < $4
                 UNION ALL
                 SELECT interval, -clicks FROM deleted_details JOIN link_bots USING (link_id)
                 WHERE owner_id = $1 AND interval >= $3 AND interval < $4
             ) AS parts GROUP BY interval
         ) AS logged USING (interval)
     ) AS points
     WHERE n > 0 AND EXISTS (SELECT FROM account_keys WHERE user_id = $1 AND key = $2)";

/// Adds rows of the log up; returns whether there are more. Another instance may be at it: the row is the lock.
pub(super) async fn sum_log(session: &mut Session) -> Result<bool, sqlx::Error> {
    let is_alone: Option<bool> = sqlx::query_scalar(
        "SELECT true FROM locks, set_config('synchronous_commit', 'off', true)
         WHERE name = 'owner series' FOR UPDATE OF locks SKIP LOCKED",
    )
    .fetch_optional(&mut *session)
    .await?;
    if !is_alone.unwrap_or_default() {
        return Ok(false);
    }
    let rows: i64 = sqlx::query_scalar("SELECT sum_owner_series_log($1)")
        .bind(ROWS_PER_STEP)
        .fetch_one(session)
        .await?;
    Ok(rows == ROWS_PER_STEP)
}
