//! Removal of classes that are not kept any more, and of the classes of deleted links and accounts, in Postgres, in steps.

use super::class_days::{DayRow, Reader, packed_day, write};
use super::class_ids::RememberedClasses;
use super::owner_series::{is_alone, sum_some};
use super::session::Session;
use crate::store::class_merge::{ClassReader, make_up, parsed, read_days, subtract};
use crate::store::rows::Tuples as _;
use crate::store::summing::{DayOf, Days, Owners};

/// How long a deleted link's rows stay: no merge takes so long that saw the link.
const REMOVED_AFTER_MICROS: i64 = 60_000_000;

/// Sums the quarters of up to `limit` days before this one: a day is kept as a whole for ever. Returns how many rows were changed.
pub(super) async fn prune(
    session: &mut Session,
    remembered: &RememberedClasses,
    before: i32,
    limit: i64,
) -> Result<u64, sqlx::Error> {
    if !is_alone(session).await? {
        return Ok(0);
    }
    let days: Vec<(i32, i64)> = sqlx::query(
        "SELECT day, whose FROM class_days
         WHERE (day, whose) > (SELECT day, whose FROM class_days_pruned) AND day < $1 ORDER BY day, whose LIMIT $2 FOR UPDATE",
    )
    .bind(before)
    .bind(limit)
    .fetch_all(&mut *session)
    .await?
    .tuples()?;
    let Some((last_day, last)) = days.last() else {
        return Ok(0);
    };
    sqlx::query(
        "WITH gone AS (DELETE FROM class_quarters WHERE (day, whose) <= ($1, $2)) UPDATE class_days_pruned SET day = $1, whose = $2",
    )
        .bind(last_day)
        .bind(last)
        .execute(&mut *session)
        .await?;
    let count = days.len() as u64;
    let remembered = &remembered.of_server(session).await?;
    let mut ended = Days::new(days);
    let mut reader = Reader::new(session, remembered);
    read_days(&mut reader, &mut ended).await?;
    for (_, day) in ended.all_mut() {
        day.end_all();
    }
    let versions = reader.versions;
    write(session, ended.into_all(), &versions).await?;
    Ok(count)
}

/// Removes up to `limit` days of deleted links, and subtracts them from the days of their owners. Returns whether more may be left.
pub(super) async fn remove_of_deleted(
    session: &mut Session,
    remembered: &RememberedClasses,
    limit: i64,
) -> Result<bool, sqlx::Error> {
    if !is_alone(session).await? {
        return Ok(false);
    }
    // Not before the account's own row is gone if that is deleted, too: its days are removed with the last of its links.
    let links: Vec<(i64, i64)> = sqlx::query(
        "SELECT link_id, owner_id FROM deleted_details WHERE deleted_at < now_micros() - $1
         AND NOT EXISTS (SELECT FROM deleted_users WHERE user_id = owner_id) ORDER BY link_id LIMIT $2",
    )
    .bind(REMOVED_AFTER_MICROS)
    .bind(limit)
    .fetch_all(&mut *session)
    .await?
    .tuples()?;
    if links.is_empty() {
        return Ok(false);
    }
    // What these links got has to be in the days of their owners first.
    if sum_some(session, remembered).await? {
        return Ok(true);
    }
    let (noted, mut owners): (Vec<i64>, Vec<i64>) = links.iter().copied().unzip();
    let owners_of = Owners::new(links);
    let links: Vec<i64> = noted.iter().copied().filter(|link| *link > 0).collect();
    let mut removed = remove_links(session, remembered, &owners_of, &links, limit).await?;
    owners.sort_unstable();
    owners.dedup();
    removed += remove_accounts(session, owners, limit).await?;
    if removed == 0 {
        sqlx::query("DELETE FROM deleted_details WHERE link_id = ANY ($1)")
            .bind(noted)
            .execute(session)
            .await?;
    }
    Ok(true)
}

/// Returns how many days were removed.
async fn remove_links(
    session: &mut Session,
    remembered: &RememberedClasses,
    owners: &Owners,
    links: &[i64],
    limit: i64,
) -> Result<usize, sqlx::Error> {
    let gone: Vec<DayRow> = sqlx::query(
        "DELETE FROM class_days WHERE ctid = ANY (ARRAY(
             SELECT class_days.ctid FROM unnest($1::bigint[]) AS link (id) CROSS JOIN class_days_between(0, 2147483647) AS between (at)
             CROSS JOIN LATERAL (SELECT class_days.ctid FROM class_days WHERE day = at AND whose = link.id LIMIT 1) AS class_days LIMIT $2))
         RETURNING day, whose, bots, ended, quarters",
    )
    .bind(links)
    .bind(limit)
    .fetch_all(&mut *session)
    .await?
    .tuples()?;
    let (days, whose): (Vec<i32>, Vec<i64>) = gone.iter().map(|row| (row.0, row.1)).unzip();
    let quarters: Vec<(i32, i64, Vec<u8>)> = sqlx::query(
        "DELETE FROM class_quarters USING unnest($1::integer[], $2::bigint[]) AS gone (day, whose)
         WHERE class_quarters.day = gone.day AND class_quarters.whose = gone.whose
         RETURNING class_quarters.day, class_quarters.whose, quarters",
    )
    .bind(days)
    .bind(whose)
    .fetch_all(&mut *session)
    .await?
    .tuples()?;
    let left: Vec<_> = quarters
        .into_iter()
        .map(|(day, whose, packed)| ((day, whose), packed))
        .collect();
    let gone: Vec<_> = gone.into_iter().map(packed_day).collect();
    let gone: Vec<_> = gone
        .iter()
        .map(|(key, packed)| (*key, parsed(packed)))
        .collect();
    let of_owner = |(day, link): DayOf| Some((day, -owners.of(link)?));
    let asked = gone.iter().filter_map(|(day, _)| of_owner(*day));
    let mut days = Days::new(asked.collect());
    let remembered = &remembered.of_server(session).await?;
    let mut reader = Reader::new(session, remembered);
    read_days(&mut reader, &mut days).await?;
    subtract(&mut days, owners, &gone, &left)?;
    make_up(&mut reader, &mut days).await?;
    let pruned = reader.pruned().await?;
    let versions = reader.versions;
    let (mut rest, mut empty) = (Vec::new(), Vec::new());
    for (key, mut day) in days.into_all() {
        if key <= pruned {
            day.end_all();
        }
        if day.is_empty() {
            empty.push(key);
        } else {
            rest.push((key, day));
        }
    }
    write(session, rest, &versions).await?;
    let (days, whose): (Vec<i32>, Vec<i64>) = empty.into_iter().unzip();
    sqlx::query(
        "DELETE FROM class_days USING unnest($1::integer[], $2::bigint[]) AS empty (day, whose)
         WHERE class_days.day = empty.day AND class_days.whose = empty.whose",
    )
    .bind(days)
    .bind(whose)
    .execute(session)
    .await?;
    Ok(gone.len())
}

/// Removes days of those accounts that are deleted; returns how many.
async fn remove_accounts(
    session: &mut Session,
    owners: Vec<i64>,
    limit: i64,
) -> Result<usize, sqlx::Error> {
    let removed: i64 = sqlx::query_scalar(
        "WITH gone AS MATERIALIZED (
             SELECT -id AS account FROM unnest($1::bigint[]) AS owner (id) WHERE NOT EXISTS (SELECT FROM users WHERE users.id = owner.id)
         ),
         days AS (
             DELETE FROM class_days WHERE ctid = ANY (ARRAY(
                 SELECT class_days.ctid FROM gone CROSS JOIN class_days_between(0, 2147483647) AS between (at)
                 CROSS JOIN LATERAL (SELECT class_days.ctid FROM class_days WHERE day = at AND whose = account LIMIT 1) AS class_days LIMIT $2))
             RETURNING 1
         ),
         quarters AS (
             DELETE FROM class_quarters WHERE ctid = ANY (ARRAY(
                 SELECT class_quarters.ctid FROM gone CROSS JOIN class_days_between(0, 2147483647) AS between (at)
                 CROSS JOIN LATERAL (SELECT class_quarters.ctid FROM class_quarters WHERE day = at AND whose = account LIMIT $2) AS class_quarters
                 LIMIT $2))
             RETURNING 1
         )
         SELECT (SELECT count(*) FROM days) + (SELECT count(*) FROM quarters)",
    )
    .bind(owners)
    .bind(limit)
    .fetch_one(session)
    .await?;
    Ok(usize::try_from(removed).unwrap_or(usize::MAX))
}
