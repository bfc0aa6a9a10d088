//! Sums over all links of an owner, in Postgres.
//!
//! Each writer that changes the clicks of links, or their classes, adds a row to `owner_series_log` for each owner and interval, in the
//! same transaction. So writers of one owner never wait for each other. A job adds the rows up in `owner_series`; a sum is read from both
//! tables in one snapshot, and is exact at every moment. Links in the owner's bin are in the sums until they end, and links that were moved
//! to another account for ever: their points are subtracted. Points of links that were moved to this account are added, by link.

use super::class_ids::RememberedClasses;
use super::merged_classes::add_to_owners;
use super::session::Session;

/// Rows of the log that are added up in one transaction.
const ROWS_PER_STEP: i64 = 10_000;

/// Points of all links of an owner that are counted. Bound are the owner's id and key, no tag, and the intervals. Only the log is
/// summed, which is short: grouping the sums of a year, too, takes three times as long.
macro_rules! points_of_owner {
    () => {
        "SELECT 0, '', interval::bigint, n FROM (
                 SELECT interval, coalesce(summed.clicks, 0) + coalesce(logged.clicks, 0) - coalesce(trashed.clicks, 0) AS n
                 FROM (
                     SELECT interval, clicks FROM owner_series WHERE owner_id = $1 AND interval >= $4 AND interval < $5
                 ) AS summed
                 FULL JOIN (
                     SELECT interval, sum(clicks)::bigint AS clicks FROM owner_series_log
                     WHERE owner_id = $1 AND interval >= $4 AND interval < $5 GROUP BY interval
                 ) AS logged USING (interval)
                 LEFT JOIN (
                     SELECT at AS interval, sum(clicks)::bigint AS clicks FROM (
                         SELECT id FROM links WHERE owner_id = $1 AND trashed_at > 0 AND made_by IS NULL
                         UNION ALL
                         SELECT id FROM links WHERE made_by = $1
                     ) AS left_out CROSS JOIN LATERAL merged_points(left_out.id, $4)
                     WHERE at >= $4 AND at < $5 GROUP BY at
                 ) AS trashed USING (interval)
             ) AS points
             WHERE n > 0 AND $3::text IS NULL AND EXISTS (SELECT FROM account_keys WHERE user_id = $1 AND key = $2)
             UNION ALL
             SELECT 0, '', at::bigint, sum(clicks)::bigint FROM links CROSS JOIN LATERAL merged_points(links.id, $4)
             WHERE owner_id = $1 AND made_by IS NOT NULL AND trashed_at = 0 AND at >= $4 AND at < $5 AND clicks > 0
                 AND $3::text IS NULL AND EXISTS (SELECT FROM account_keys WHERE user_id = $1 AND key = $2)
             GROUP BY at"
    };
}

pub(super) use points_of_owner;

/// Whether there are more rows; owners, intervals and packed classes of the rows with classes.
type SummedRow = (
    bool,
    Option<Vec<i64>>,
    Option<Vec<i32>>,
    Option<Vec<Vec<u8>>>,
);

/// Whether no other instance changes the sums of owners now: the row is the lock. What this transaction writes may be lost in a crash:
/// it is done again then.
pub(super) async fn is_alone(session: &mut Session) -> Result<bool, sqlx::Error> {
    let is_alone: Option<bool> = sqlx::query_scalar(
        "SELECT true FROM locks, set_config('synchronous_commit', 'off', true)
         WHERE name = 'owner series' FOR UPDATE OF locks SKIP LOCKED",
    )
    .fetch_optional(session)
    .await?;
    Ok(is_alone.unwrap_or_default())
}

/// Adds rows of the log up; returns whether there are more.
pub(super) async fn sum_log(
    session: &mut Session,
    remembered: &RememberedClasses,
) -> Result<bool, sqlx::Error> {
    if !is_alone(session).await? {
        return Ok(false);
    }
    sum_some(session, remembered).await
}

/// The same, if no other instance adds rows up now.
pub(super) async fn sum_some(
    session: &mut Session,
    remembered: &RememberedClasses,
) -> Result<bool, sqlx::Error> {
    let (are_more, owners, intervals, classes): SummedRow = sqlx::query_as(
        "SELECT are_more, owners, intervals, classes_of FROM sum_owner_series_log($1)",
    )
    .bind(ROWS_PER_STEP)
    .fetch_one(&mut *session)
    .await?;
    if let (Some(owners), Some(intervals), Some(classes)) = (owners, intervals, classes) {
        let logged = owners.into_iter().zip(intervals).zip(classes);
        let logged = logged.map(|((owner, interval), classes)| (owner, interval, classes));
        add_to_owners(session, remembered, logged.collect()).await?;
    }
    Ok(are_more)
}
