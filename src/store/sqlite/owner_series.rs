//! Sums over all links of an owner, in SQLite.
//!
//! The transaction that counts clicks adds to them, and triggers do where links are made or deleted and where bots are noted. An
//! account of before the step "owner series", or to whose links a process of the version before has added, is read by link until its
//! sums are made.

use sqlx::SqliteConnection;

/// Sums of an account with more links are not made: clicks wait meanwhile.
const MOST_LINKS: u32 = 20_000;

/// Clicks of the owner's links that are counted, of accounts whose sums are whole and of others, and those in the journal. Bound are
/// the owner's id and key, the tag, and the quarters; `?7` is the time. The kinds of rows are those of `owner_rows`.
macro_rules! points {
    () => {
        "WITH owned AS NOT MATERIALIZED (
        SELECT id FROM links WHERE owner_id = (SELECT user_id FROM account_keys WHERE user_id = ?1 AND key = ?2)
          AND (?3 IS NULL OR id IN (SELECT link_id FROM link_tags WHERE owner_id = ?1 AND tag = ?3))
    ),
    by_link AS NOT MATERIALIZED (
        SELECT id, created_at, quarter, clicks, in_quarter FROM links
        WHERE owner_id = (
            SELECT user_id FROM account_keys WHERE user_id = ?1 AND key = ?2
            AND (?3 IS NOT NULL OR user_id NOT IN (SELECT owner_id FROM owner_series_whole)))
          AND (?3 IS NULL OR id IN (SELECT link_id FROM link_tags WHERE owner_id = ?1 AND tag = ?3))
    )
    SELECT 0, '', sums.quarter, sums.clicks FROM owner_series AS sums
    WHERE owner_id = (
        SELECT user_id FROM account_keys JOIN owner_series_whole AS whole ON whole.owner_id = user_id
        WHERE user_id = ?1 AND key = ?2 AND ?3 IS NULL)
      AND sums.quarter >= ?4 AND sums.quarter < ?5 AND sums.clicks > 0
    UNION ALL
    SELECT 0, '', link_series.quarter, sum(link_series.clicks) FROM by_link JOIN link_series ON link_id = id
    WHERE link_series.quarter >= ?4 AND link_series.quarter < ?5 GROUP BY 3
    UNION ALL
    SELECT 0, '', at, sum(n) FROM (
        SELECT CASE quarter WHEN 0 THEN max(created_at / 900000000, 1) ELSE quarter END AS at,
            CASE quarter WHEN 0 THEN clicks ELSE in_quarter END AS n
        FROM by_link
        UNION ALL
        SELECT coalesce(click_journal.quarter, ?7 / 900000000), pair.value
        FROM click_journal LEFT JOIN folding_cuts USING (recorder), json_each(click_journal.clicks) AS pair
            JOIN owned ON owned.id = CAST(pair.key AS INTEGER)
        WHERE NOT held
          AND (last_batch IS NULL OR number > last_batch OR owned.id > (SELECT up_to FROM folding))
    ) WHERE at >= ?4 AND at < ?5 AND n > 0 GROUP BY at"
    };
}

pub(super) use points;

/// Those of known bots among them.
pub(super) const BOTS: &str = "
    SELECT quarter, bots FROM owner_series AS sums
    WHERE owner_id = (
        SELECT users.id FROM users JOIN owner_series_whole AS whole ON whole.owner_id = users.id
        WHERE users.id = ?1 AND token_key = ?2 AND ?3 IS NULL)
      AND quarter >= ?4 AND quarter < ?5 AND bots > 0
    UNION ALL
    SELECT link_bots.quarter, sum(link_bots.clicks) FROM link_bots JOIN links ON id = link_id
    WHERE owner_id = (
        SELECT users.id FROM users WHERE users.id = ?1 AND token_key = ?2
        AND (?3 IS NOT NULL OR users.id NOT IN (SELECT owner_id FROM owner_series_whole)))
      AND (?3 IS NULL OR links.id IN (SELECT link_id FROM link_tags WHERE owner_id = ?1 AND tag = ?3))
      AND link_bots.quarter >= ?4 AND link_bots.quarter < ?5 GROUP BY link_bots.quarter";

/// Adds clicks of one interval to the sums of the links' owners, as far as these are whole.
pub(super) const ADD: &str = "INSERT INTO owner_series (owner_id, quarter, clicks)
    SELECT owner_id, ?2, sum(pair.value) FROM json_each(?1) AS pair JOIN links ON links.id = CAST(pair.key AS INTEGER)
        JOIN owner_series_whole USING (owner_id)
    WHERE true GROUP BY owner_id
    ON CONFLICT (owner_id, quarter) DO UPDATE SET clicks = clicks + excluded.clicks";

/// An account whose sums are not whole.
pub(super) async fn without_sums(
    reader: &mut SqliteConnection,
) -> Result<Option<i64>, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT owner_id FROM link_totals WHERE owner_id NOT IN (SELECT owner_id FROM owner_series_whole) AND links <= ?1 LIMIT 1",
    )
    .bind(MOST_LINKS)
    .fetch_optional(reader)
    .await
}

/// Makes the sums of an account.
pub(super) async fn make_sums(
    transaction: &mut SqliteConnection,
    owner: i64,
) -> Result<(), sqlx::Error> {
    for statement in [
        "DELETE FROM owner_series WHERE owner_id = ?1",
        "INSERT INTO owner_series (owner_id, quarter, clicks, bots)
         SELECT ?1, at, sum(n), sum(bots) FROM (
             SELECT series.quarter AS at, series.clicks AS n, 0 AS bots FROM links JOIN link_series AS series ON link_id = id
             WHERE owner_id = ?1
             UNION ALL
             SELECT CASE quarter WHEN 0 THEN max(created_at / 900000000, 1) ELSE quarter END,
                 CASE quarter WHEN 0 THEN clicks ELSE in_quarter END, 0
             FROM links WHERE owner_id = ?1
             UNION ALL
             SELECT link_bots.quarter, 0, link_bots.clicks FROM links JOIN link_bots ON link_id = id WHERE owner_id = ?1
         ) GROUP BY at HAVING sum(n) > 0 OR sum(bots) > 0",
        "INSERT INTO owner_series_whole (owner_id) SELECT id FROM users WHERE id = ?1 ON CONFLICT DO NOTHING",
    ] {
        sqlx::query(statement)
            .bind(owner)
            .execute(&mut *transaction)
            .await?;
    }
    Ok(())
}
