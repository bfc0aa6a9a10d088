-- As in the step "owner series", with one look at `links` for each row instead of two: what is added for a link that is gone is
-- taken back.
CREATE OR REPLACE FUNCTION count_clicks(ids bigint[], counts bigint[], of_quarter integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    others bigint[];
    gone   bigint[];
BEGIN
    WITH added AS (
        INSERT INTO link_clicks (link_id, clicks, quarter, in_quarter, in_owner_series)
        SELECT id, n, of_quarter, n, true FROM unnest(ids, counts) AS pair (id, n) ORDER BY id
        ON CONFLICT (link_id) DO UPDATE SET
            clicks = link_clicks.clicks + excluded.clicks,
            quarter = greatest(link_clicks.quarter, excluded.quarter),
            in_quarter = CASE
                WHEN link_clicks.quarter = excluded.quarter THEN link_clicks.in_quarter + excluded.clicks
                WHEN link_clicks.quarter < excluded.quarter THEN excluded.clicks
                ELSE link_clicks.in_quarter
            END,
            late_writes = CASE
                WHEN link_clicks.quarter > excluded.quarter THEN (link_clicks.late_writes + 1) % 1000000
                ELSE link_clicks.late_writes
            END
        RETURNING link_id, quarter, in_owner_series
    ),
    late AS (
        INSERT INTO link_series (link_id, quarter, clicks)
        SELECT link_id, of_quarter, n FROM added JOIN unnest(ids, counts) AS pair (id, n) ON id = link_id
        WHERE added.quarter > of_quarter
        ON CONFLICT (link_id, quarter) DO UPDATE SET clicks = link_series.clicks + excluded.clicks
    )
    SELECT array_agg(link_id) FILTER (WHERE NOT in_owner_series) INTO others FROM added;
    -- A statement of its own: its snapshot is younger than the locks on these rows, for which a deletion of a link waits, too.
    -- So a link is either seen here, and its deletion sees these clicks, or is deleted, and has no part in the sums.
    WITH owned AS MATERIALIZED (
        SELECT id, n, (SELECT owner_id FROM links WHERE links.id = pair.id) AS owner_id FROM unnest(ids, counts) AS pair (id, n)
    ),
    logged AS (
        INSERT INTO owner_series_log (owner_id, quarter, clicks)
        SELECT owner_id, of_quarter, sum(n) FROM owned
        WHERE owner_id IS NOT NULL AND (others IS NULL OR id <> ALL (others)) GROUP BY owner_id
    )
    SELECT array_agg(id) INTO gone FROM owned WHERE owner_id IS NULL;
    IF gone IS NOT NULL THEN
        DELETE FROM link_series WHERE link_id = ANY (gone);
        DELETE FROM link_clicks WHERE link_id = ANY (gone);
    END IF;
    RETURN cardinality(ids) - coalesce(cardinality(gone), 0);
END
$$;
