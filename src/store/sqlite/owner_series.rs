//! Sums over all links of an owner, in SQLite.
//!
//! The transaction that counts clicks adds to them, and triggers do if links are made or deleted. Links in the owner's bin are in them
//! until they end, and links that were moved to another account for ever: their points are subtracted. Points of the links with a tag or of
//! a host, and of links that were moved to this account, are read by link.

/// Clicks of the owner's links that are counted, and those in the journal. Bound are the owner's id and key, the tag, and the
/// intervals; `?7` is the time, and `?8` the host. The kinds of rows are as in `owner_rows`.
macro_rules! points {
    () => {
        "WITH owned AS NOT MATERIALIZED (
        SELECT id, interval, in_interval FROM links
        WHERE owner_id = (SELECT user_id FROM account_keys WHERE user_id = ?1 AND key = ?2) AND trashed_at = 0
          AND (?3 IS NULL OR id IN (SELECT link_id FROM link_tags WHERE owner_id = ?1 AND tag = ?3))
          AND (?8 IS NULL OR domain = ?8)
    ), in_bin AS NOT MATERIALIZED (
        SELECT id, interval, in_interval FROM links WHERE owner_id = ?1 AND trashed_at > 0 AND made_by IS NULL
        UNION ALL SELECT id, interval, in_interval FROM links WHERE made_by = ?1
    ), moved_in AS NOT MATERIALIZED (
        SELECT id, interval, in_interval FROM links
        WHERE owner_id = (SELECT user_id FROM account_keys WHERE user_id = ?1 AND key = ?2) AND made_by IS NOT NULL AND trashed_at = 0
          AND ?3 IS NULL AND ?8 IS NULL
    ), trashed AS MATERIALIZED (
        SELECT at, sum(n) AS n FROM (
            SELECT interval AS at, in_interval AS n FROM in_bin
            UNION ALL SELECT link_series.interval, link_series.clicks FROM in_bin JOIN link_series ON link_id = in_bin.id
        ) GROUP BY at
    )
    SELECT 0, '', sums.interval, sums.clicks - coalesce(trashed.n, 0)
    FROM owner_series AS sums LEFT JOIN trashed ON trashed.at = sums.interval
    WHERE owner_id = (SELECT user_id FROM account_keys WHERE user_id = ?1 AND key = ?2) AND ?3 IS NULL AND ?8 IS NULL
      AND sums.interval >= ?4 AND sums.interval < ?5 AND sums.clicks > coalesce(trashed.n, 0)
    UNION ALL
    SELECT 0, '', link_series.interval, sum(link_series.clicks) FROM owned JOIN link_series ON link_id = id
    WHERE coalesce(?3, ?8) IS NOT NULL AND link_series.interval >= ?4 AND link_series.interval < ?5 GROUP BY 3
    UNION ALL
    SELECT 0, '', link_series.interval, sum(link_series.clicks) FROM moved_in JOIN link_series ON link_id = id
    WHERE link_series.interval >= ?4 AND link_series.interval < ?5 GROUP BY 3
    UNION ALL
    SELECT 0, '', at, sum(n) FROM (
        SELECT interval AS at, in_interval AS n FROM owned WHERE coalesce(?3, ?8) IS NOT NULL
        UNION ALL
        SELECT interval AS at, in_interval AS n FROM moved_in
        UNION ALL
        SELECT click_journal.interval, pair.value
        FROM click_journal LEFT JOIN compaction_cuts USING (recorder) LEFT JOIN click_recorders USING (recorder),
            json_each(click_journal.clicks) AS pair JOIN owned ON owned.id = CAST(pair.key AS INTEGER)
        WHERE NOT parked AND (counted IS NULL OR number > counted)
          AND (compaction_cuts.last_batch IS NULL OR number > compaction_cuts.last_batch OR owned.id > (SELECT up_to FROM compaction))
    ) WHERE at >= ?4 AND at < ?5 AND n > 0 GROUP BY at"
    };
}

pub(super) use points;

/// Adds clicks of one interval to the sums of the accounts that made the links, if these are there, and to the sum of the day; aliases have none.
macro_rules! add {
    () => {
        "INSERT INTO service_days (day, clicks)
         SELECT ?2 / 96, sum(pair.value) FROM json_each(?1) AS pair JOIN links ON links.id = CAST(pair.key AS INTEGER)
         WHERE owner_id IS NOT NULL GROUP BY 1
         ON CONFLICT (day) DO UPDATE SET clicks = clicks + excluded.clicks;
         INSERT INTO owner_series (owner_id, interval, clicks)
         SELECT coalesce(made_by, owner_id), ?2, sum(pair.value)
         FROM json_each(?1) AS pair JOIN links ON links.id = CAST(pair.key AS INTEGER)
         WHERE owner_id IS NOT NULL AND (made_by IS NULL OR EXISTS (SELECT 1 FROM users WHERE users.id = made_by)) GROUP BY 1
         ON CONFLICT (owner_id, interval) DO UPDATE SET clicks = clicks + excluded.clicks"
    };
}

pub(super) use add;
