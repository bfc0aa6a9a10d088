//! The work of removals on links in SQLite: small steps, each in one transaction.

use sqlx::{Sqlite, SqliteConnection};

use crate::domain::Timestamp;
use crate::store::removals::{LookedAtRow, Source};
use crate::store::{LOOKED_AT_IN_STEP, StoreError};

/// Covers links that are still there.
pub(super) async fn cover(
    connection: &mut SqliteConnection,
    removal: i64,
    links: &[i64],
) -> Result<(), StoreError> {
    change(
        connection,
        "INSERT OR IGNORE INTO link_removals (link_id, removal_id, status)
         SELECT links.id, removals.id, status FROM links, removals
         WHERE removals.id = ?1 AND links.id IN (SELECT value FROM json_each(?2))",
        removal,
        links,
    )
    .await
}

pub(super) async fn put_back(
    connection: &mut SqliteConnection,
    removal: i64,
    links: &[i64],
) -> Result<(), StoreError> {
    change(
        connection,
        "DELETE FROM link_removals WHERE removal_id = ?1 AND link_id IN (SELECT value FROM json_each(?2))",
        removal,
        links,
    )
    .await
}

/// Changes which links a removal covers, and gives them the state that the removals that cover them make. A trigger notes the
/// changes.
async fn change(
    connection: &mut SqliteConnection,
    sql: &'static str,
    removal: i64,
    links: &[i64],
) -> Result<(), StoreError> {
    if links.is_empty() {
        return Ok(());
    }
    let links = serde_json::json!(links).to_string();
    sqlx::query(sql)
        .bind(removal)
        .bind(&links)
        .execute(&mut *connection)
        .await?;
    sqlx::query(
        "UPDATE links SET removed_status = state.status FROM (
             SELECT value AS id, (SELECT max(status) FROM link_removals WHERE link_id = value) AS status FROM json_each(?1)
         ) AS state
         WHERE links.id = state.id AND removed_status IS NOT state.status",
    )
    .bind(&links)
    .execute(connection)
    .await?;
    Ok(())
}

/// Number, kind, value (of the blocklist, its digest), whether it is taken back, where to go on, whether that is the second time.
pub(super) type UnderWayRow = (i64, String, String, bool, i64, bool);

pub(super) async fn under_way(
    connection: &mut SqliteConnection,
    now: Timestamp,
) -> Result<Vec<UnderWayRow>, StoreError> {
    let found = sqlx::query_as::<Sqlite, _>(
        "SELECT id, kind, coalesce(digest, value), taken_back_at IS NOT NULL, looking_after, look_again_at IS NOT NULL FROM removals
         WHERE looking_after IS NOT NULL AND (look_again_at IS NULL OR look_again_at <= ?1) ORDER BY id LIMIT 20",
    );
    Ok(found.bind(now.micros()).fetch_all(connection).await?)
}

/// The next links that a removal looks at.
pub(super) async fn looked_at(
    connection: &mut SqliteConnection,
    source: Source,
    removal: i64,
    after: i64,
) -> Result<Vec<LookedAtRow>, StoreError> {
    let sql = match source {
        Source::Covered => {
            "SELECT link_id, link_id, '', true FROM link_removals
             WHERE removal_id = ?1 AND link_id > ?2 AND ?4 = ?4 ORDER BY link_id LIMIT ?3"
        }
        // By the index of the owner's list. Links of one moment are at most as many as one call makes.
        Source::Owner(_) => {
            "SELECT id, created_at, '', false FROM links
             WHERE owner_id = ?4 AND created_at >= ?2
             AND NOT EXISTS (SELECT 1 FROM link_removals AS own WHERE own.link_id = links.id AND own.removal_id = ?1)
             ORDER BY created_at, id LIMIT ?3"
        }
        Source::Addresses => {
            "SELECT link_id, link_id, address, EXISTS (
                 SELECT 1 FROM link_removals AS own WHERE own.link_id = link_addresses.link_id AND own.removal_id = ?1)
             FROM link_addresses WHERE link_id > ?2 AND ?4 = ?4 ORDER BY link_id LIMIT ?3"
        }
        Source::Targets => {
            "SELECT id, id, target_url, EXISTS (
                 SELECT 1 FROM link_removals AS own WHERE own.link_id = links.id AND own.removal_id = ?1)
             FROM links WHERE id > ?2 AND ?4 = ?4 ORDER BY id LIMIT ?3"
        }
    };
    let owner = match source {
        Source::Owner(owner) => owner,
        _ => 0,
    };
    let found = sqlx::query_as(sql).bind(removal).bind(after);
    let found = found.bind(LOOKED_AT_IN_STEP).bind(owner);
    Ok(found.fetch_all(connection).await?)
}
