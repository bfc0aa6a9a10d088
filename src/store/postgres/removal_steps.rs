//! The work of removals on links in Postgres: small steps, each in one transaction.

use super::session::Session;
use crate::domain::Timestamp;
use crate::store::LOOKED_AT_IN_STEP;
use crate::store::removals::{Covers, LOOK_AGAIN_AFTER_MICROS, LookedAtRow, Source, sorted};

/// The changes that triggers noted in this transaction.
pub(super) const CHANGES: &str =
    "SELECT number, short_code FROM link_changes WHERE changed_in = txid_current() ORDER BY number";

/// Covers links that are still there, in the order of their ids.
pub(super) async fn cover(
    session: &mut Session,
    removal: i64,
    links: &[i64],
) -> Result<(), sqlx::Error> {
    if links.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "WITH locked AS (SELECT id FROM links WHERE id = ANY ($2) ORDER BY id FOR UPDATE)
         INSERT INTO link_removals (link_id, removal_id, status)
         SELECT locked.id, removals.id, status FROM locked, removals WHERE removals.id = $1 ON CONFLICT DO NOTHING",
    )
    .bind(removal)
    .bind(links)
    .execute(&mut *session)
    .await?;
    settle(session, links).await
}

pub(super) async fn put_back(
    session: &mut Session,
    removal: i64,
    links: &[i64],
) -> Result<(), sqlx::Error> {
    if links.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "WITH locked AS (SELECT id FROM links WHERE id = ANY ($2) ORDER BY id FOR UPDATE)
         DELETE FROM link_removals WHERE removal_id = $1 AND link_id IN (SELECT id FROM locked)",
    )
    .bind(removal)
    .bind(links)
    .execute(&mut *session)
    .await?;
    settle(session, links).await
}

/// Gives links the state that the removals that cover them make. Triggers note the changes.
async fn settle(session: &mut Session, links: &[i64]) -> Result<(), sqlx::Error> {
    sqlx::query(
        "UPDATE links SET removed_status = state.status FROM (
             SELECT id, (SELECT max(status) FROM link_removals WHERE link_id = id) AS status FROM unnest($1::bigint[]) AS id
         ) AS state
         WHERE links.id = state.id AND removed_status IS DISTINCT FROM state.status",
    )
    .bind(links)
    .execute(session)
    .await?;
    Ok(())
}

/// Number, kind, value (of the blocklist, its digest), whether it is taken back, where to go on, whether that is the second time.
type UnderWayRow = (i64, String, String, bool, i64, bool);

pub(super) async fn step(
    session: &mut Session,
    covers: Covers<'_>,
    now: Timestamp,
) -> Result<Option<(Vec<(i64, String)>, u64)>, sqlx::Error> {
    // Another instance may be at it.
    let under_way: Vec<UnderWayRow> = sqlx::query_as(
        "SELECT id, kind, coalesce(digest, value), taken_back_at IS NOT NULL, looking_after, look_again_at IS NOT NULL FROM removals
         WHERE looking_after IS NOT NULL AND (look_again_at IS NULL OR look_again_at <= $1) ORDER BY id LIMIT 20 FOR UPDATE SKIP LOCKED",
    )
    .bind(now.micros())
    .fetch_all(&mut *session)
    .await?;
    for (id, kind, value, is_taken_back, after, is_second) in under_way {
        let source = Source::of(&kind, &value, is_taken_back);
        let rows = looked_at(session, source, id, after).await?;
        let names = (kind.as_str(), value.as_str());
        let Some((to_cover, to_put_back)) = sorted(source, names, &rows, covers) else {
            continue;
        };
        cover(session, id, &to_cover).await?;
        put_back(session, id, &to_put_back).await?;
        let is_end = rows.len() < LOOKED_AT_IN_STEP as usize;
        let is_over = is_end && (is_second || source == Source::Covered);
        let place = match rows.last() {
            Some((_, place, ..)) if !is_end => *place,
            _ => 0,
        };
        let again = (is_end && !is_over).then(|| now.micros() + LOOK_AGAIN_AFTER_MICROS);
        sqlx::query(
            "UPDATE removals SET looking_after = CASE WHEN $3 THEN NULL ELSE $2::bigint END,
                 look_again_at = coalesce($4, look_again_at) WHERE id = $1",
        )
        .bind(id)
        .bind(place)
        .bind(is_over)
        .bind(again)
        .execute(&mut *session)
        .await?;
        let changes = sqlx::query_as(CHANGES).fetch_all(session).await?;
        return Ok(Some((changes, rows.len() as u64)));
    }
    Ok(None)
}

/// The next links that a removal looks at.
async fn looked_at(
    session: &mut Session,
    source: Source,
    removal: i64,
    after: i64,
) -> Result<Vec<LookedAtRow>, sqlx::Error> {
    const IS_COVERED: &str = "EXISTS (SELECT FROM link_removals AS own WHERE own.link_id = links.id AND own.removal_id = $1)";
    let sql = match source {
        Source::Covered => "SELECT link_id, link_id, '', true FROM link_removals
             WHERE removal_id = $1 AND link_id > $2 ORDER BY link_id LIMIT $3"
            .to_owned(),
        // By the index of the owner's list. Links of one moment are at most as many as one call makes.
        Source::Owner(owner) => format!(
            "SELECT id, created_at, '', false FROM links
             WHERE owner_id = {owner} AND created_at >= $2 AND NOT {IS_COVERED}
             ORDER BY created_at, id LIMIT $3"
        ),
        Source::Addresses => "SELECT links.link_id, links.link_id, address, EXISTS (
                 SELECT FROM link_removals AS own WHERE own.link_id = links.link_id AND own.removal_id = $1)
             FROM link_addresses AS links WHERE links.link_id > $2 ORDER BY links.link_id LIMIT $3"
            .to_owned(),
        Source::Targets => format!(
            "SELECT id, id, target_url, {IS_COVERED} FROM links WHERE id > $2 ORDER BY id LIMIT $3"
        ),
    };
    sqlx::query_as(sqlx::AssertSqlSafe(sql))
        .bind(removal)
        .bind(after)
        .bind(i64::from(LOOKED_AT_IN_STEP))
        .fetch_all(session)
        .await
}
