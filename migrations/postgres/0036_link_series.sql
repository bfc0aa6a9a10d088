-- Clicks by the quarter of an hour (UTC) in which they were recorded: quarters since 1970 began. The newest quarter of a link
-- stands in link_clicks, so that a flush writes the one row that it wrote before; the sum of an older one is here. 0 is the
-- quarter of clicks from before there were any, and of a count with which a link was made: they belong to the one in which
-- the link was made.
CREATE TABLE link_series (
    link_id bigint  NOT NULL,
    quarter integer NOT NULL,
    clicks  bigint  NOT NULL CHECK (clicks >= 0),
    PRIMARY KEY (link_id, quarter)
);
-- As of link_clicks: it grows with the links, and only the newest rows change.
ALTER TABLE link_series SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);

ALTER TABLE link_clicks
    ADD COLUMN quarter     integer NOT NULL DEFAULT 0,
    -- Changes with every addition to an older quarter, which changes nothing else here but the count.
    ADD COLUMN late_writes integer NOT NULL DEFAULT 0,
    ADD COLUMN in_quarter  bigint  NOT NULL DEFAULT 0;

-- NULL in a batch of the version before.
ALTER TABLE click_journal ADD COLUMN quarter integer;

CREATE FUNCTION quarter_now() RETURNS integer LANGUAGE sql STABLE AS $$
    SELECT floor(extract(epoch FROM now()) / 900)::integer
$$;

-- Moves the sum of the quarter that ends. An update that knows of no quarters, that of an instance of the version before, is
-- one of this moment.
CREATE FUNCTION link_quarter_ends() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    ended integer := OLD.quarter;
    moved bigint := OLD.in_quarter;
BEGIN
    IF NEW.quarter = OLD.quarter AND NEW.in_quarter = OLD.in_quarter AND NEW.late_writes = OLD.late_writes THEN
        NEW.quarter := greatest(OLD.quarter, quarter_now());
        NEW.in_quarter := NEW.clicks - OLD.clicks + CASE WHEN NEW.quarter = OLD.quarter THEN OLD.in_quarter ELSE 0 END;
    END IF;
    IF NEW.quarter <> OLD.quarter THEN
        IF ended = 0 THEN
            moved := OLD.clicks;
            SELECT greatest(floor(extract(epoch FROM created_at) / 900), 1) INTO ended FROM links WHERE id = OLD.link_id;
        END IF;
        IF moved > 0 AND ended IS NOT NULL THEN
            INSERT INTO link_series (link_id, quarter, clicks) VALUES (OLD.link_id, ended, moved)
            ON CONFLICT (link_id, quarter) DO UPDATE SET clicks = link_series.clicks + excluded.clicks;
        END IF;
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER link_quarter_ends BEFORE UPDATE ON link_clicks FOR EACH ROW
    WHEN (NEW.quarter <> OLD.quarter
        OR NEW.clicks <> OLD.clicks AND NEW.in_quarter = OLD.in_quarter AND NEW.late_writes = OLD.late_writes)
    EXECUTE FUNCTION link_quarter_ends();

-- Adds clicks of one quarter to links, each named once. Deleted links get no row; only a link without a row is looked up in
-- links, so that counting links that were clicked before costs the same however many links there are. In rising order of ids,
-- so that compaction and flushes, also those of several instances, do not deadlock. Returns the number of links.
CREATE FUNCTION count_clicks(ids bigint[], counts bigint[], of_quarter integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    written bigint;
BEGIN
    WITH part AS (
        SELECT id, n FROM unnest(ids, counts) AS pair (id, n)
        WHERE (SELECT true FROM link_clicks WHERE link_id = pair.id) OR (SELECT true FROM links WHERE links.id = pair.id)
    ),
    added AS (
        INSERT INTO link_clicks (link_id, clicks, quarter, in_quarter)
        SELECT id, n, of_quarter, n FROM part ORDER BY id
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
        RETURNING link_id, quarter
    ),
    late AS (
        INSERT INTO link_series (link_id, quarter, clicks)
        SELECT link_id, of_quarter, n FROM added JOIN unnest(ids, counts) AS pair (id, n) ON id = link_id
        WHERE added.quarter > of_quarter
        ON CONFLICT (link_id, quarter) DO UPDATE SET clicks = link_series.clicks + excluded.clicks
    )
    SELECT count(*) INTO written FROM added;
    RETURN written;
END
$$;

-- Compacts batches of the journal, quarter by quarter. Returns how many batches, links and clicks that were.
CREATE FUNCTION compact_batches(chosen tid[], OUT batch_count bigint, OUT link_count bigint, OUT click_count bigint)
LANGUAGE plpgsql AS $$
DECLARE
    step record;
BEGIN
    batch_count := 0;
    link_count := 0;
    click_count := 0;
    FOR step IN
        WITH taken AS (
            DELETE FROM click_journal WHERE ctid = ANY (chosen)
            RETURNING coalesce(quarter, quarter_now()) AS quarter, link_ids, clicks
        ),
        sums AS (
            SELECT quarter, id, sum(n)::bigint AS n FROM taken, unnest(link_ids, clicks) AS pair (id, n) GROUP BY quarter, id
        )
        SELECT quarter, array_agg(id ORDER BY id) AS ids, array_agg(n ORDER BY id) AS counts, sum(n)::bigint AS total,
            (SELECT count(*) FROM taken) AS batches,
            -- A second quarter begins with the first ids again: another writer may wait for one of them with a later one.
            CASE WHEN (SELECT min(quarter) < max(quarter) FROM taken) THEN (SELECT array_agg(id) FROM sums) END AS all_ids
        FROM sums GROUP BY quarter ORDER BY quarter
    LOOP
        IF batch_count = 0 AND step.all_ids IS NOT NULL THEN
            PERFORM FROM link_clicks WHERE link_id = ANY (step.all_ids) ORDER BY link_id FOR UPDATE;
        END IF;
        batch_count := step.batches;
        link_count := link_count + count_clicks(step.ids, step.counts, step.quarter);
        click_count := click_count + step.total;
    END LOOP;
END
$$;

-- As the function with five arguments, with the quarter.
CREATE FUNCTION append_clicks(
    of_recorder bigint, with_number bigint, parked_in text, ids bigint[], counts bigint[], of_quarter integer)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(of_recorder);
    INSERT INTO click_journal (recorder, number, held, epoch, link_ids, clicks, quarter)
    SELECT of_recorder, with_number, parked_in IS NOT NULL, parked_in, ids, counts, of_quarter
    WHERE NOT EXISTS (SELECT FROM click_journal WHERE recorder = of_recorder AND number >= with_number)
      AND NOT EXISTS (SELECT FROM journal_marks WHERE recorder = of_recorder AND number >= with_number);
END
$$;

-- As the function with four arguments, with the quarter.
CREATE FUNCTION grant_clicks(of_recorder bigint, with_number bigint, ids bigint[], counts bigint[], of_quarter integer)
RETURNS SETOF click_grants LANGUAGE plpgsql AS $$
DECLARE
    granted_ids    bigint[];
    granted_counts bigint[];
BEGIN
    PERFORM pg_advisory_xact_lock(of_recorder);
    IF NOT EXISTS (SELECT FROM click_grants WHERE recorder = of_recorder AND number >= with_number) THEN
        PERFORM FROM link_limits WHERE link_id = ANY (ids) ORDER BY link_id FOR UPDATE;
        -- A statement of its own: its snapshot is younger than the locks, and shows every grant before (READ COMMITTED).
        WITH asked AS (
            SELECT id, n,
                (SELECT coalesce(max_clicks, 9223372036854775807) FROM links WHERE links.id = pair.id) AS max_clicks,
                (SELECT clicks_before + granted FROM link_limits WHERE link_id = pair.id) AS granted_before,
                (SELECT clicks FROM link_clicks WHERE link_id = pair.id) AS counted_before
            FROM unnest(ids, counts) AS pair (id, n)
        ),
        states AS (
            SELECT id, n, CASE
                -- The link is deleted.
                WHEN max_clicks IS NULL THEN 0
                WHEN max_clicks = 9223372036854775807 THEN max_clicks
                WHEN granted_before IS NOT NULL THEN max_clicks - greatest(granted_before, counted_before)
            END AS clicks_left
            FROM asked
        ),
        answers AS (
            SELECT id, clicks_left,
                CASE WHEN clicks_left < 9223372036854775807 THEN greatest(least(n, clicks_left), 0) ELSE 0 END AS n
            FROM states
        ),
        noted AS (
            -- By key, however the answers are joined.
            UPDATE link_limits SET granted = granted + n FROM answers
            WHERE link_id = ANY (ids) AND link_id = id AND n > 0
        ),
        kept AS (
            INSERT INTO click_grants (recorder, number, link_ids, clicks, clicks_left)
            SELECT of_recorder, with_number, array_agg(id ORDER BY id), array_agg(n ORDER BY id),
                array_agg(CASE WHEN clicks_left < 9223372036854775807 THEN clicks_left - n ELSE clicks_left END ORDER BY id)
            FROM answers
        )
        SELECT array_agg(id ORDER BY id), array_agg(n ORDER BY id) INTO granted_ids, granted_counts
        FROM answers WHERE n > 0;
        IF granted_ids IS NOT NULL THEN
            PERFORM count_clicks(granted_ids, granted_counts, of_quarter);
        END IF;
    END IF;
    RETURN QUERY SELECT * FROM click_grants WHERE recorder = of_recorder AND number = with_number;
END
$$;
