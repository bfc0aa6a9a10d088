-- Sums over all links of an account: clicks by the quarter of an hour, as in link_series and link_clicks, and those of known
-- bots among them, as in link_bots. Writers add rows to owner_series_log and so never wait for each other; a job adds those up
-- in owner_series. A sum is that of both tables. No sum is below 0, but a row may be until the log is added up.
CREATE TABLE owner_series (
    owner_id bigint  NOT NULL,
    quarter  integer NOT NULL,
    clicks   bigint  NOT NULL,
    bots     bigint  NOT NULL,
    PRIMARY KEY (owner_id, quarter)
);
ALTER TABLE owner_series SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);

CREATE TABLE owner_series_log (
    owner_id bigint  NOT NULL,
    quarter  integer NOT NULL,
    clicks   bigint  NOT NULL DEFAULT 0,
    bots     bigint  NOT NULL DEFAULT 0
);
CREATE INDEX owner_series_log_owner ON owner_series_log (owner_id);
ALTER TABLE owner_series_log SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

-- Bots of deleted links are in the sums until their rows are removed; readers subtract them.
CREATE INDEX deleted_details_owner ON deleted_details (owner_id);

-- How far the rows from before this step are in the sums; the next step takes them in.
CREATE TABLE owner_series_state (
    only_row     boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    clicks_up_to bigint  NOT NULL DEFAULT -1,
    bots_up_to   bigint  NOT NULL DEFAULT -1,
    bots_quarter integer NOT NULL DEFAULT -1,
    is_whole     boolean NOT NULL DEFAULT false
);
INSERT INTO owner_series_state DEFAULT VALUES;
ALTER TABLE link_clicks ADD COLUMN in_owner_series boolean NOT NULL DEFAULT false;
ALTER TABLE link_bots ADD COLUMN in_owner_series boolean NOT NULL DEFAULT false;
ALTER TABLE link_bots ALTER COLUMN in_owner_series SET DEFAULT true;

-- As in the step "link series"; the clicks are added to the sums of the owners, too.
CREATE OR REPLACE FUNCTION count_clicks(ids bigint[], counts bigint[], of_quarter integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    written bigint;
    others  bigint[];
BEGIN
    WITH part AS (
        SELECT id, n FROM unnest(ids, counts) AS pair (id, n)
        WHERE (SELECT true FROM link_clicks WHERE link_id = pair.id) OR (SELECT true FROM links WHERE links.id = pair.id)
    ),
    added AS (
        INSERT INTO link_clicks (link_id, clicks, quarter, in_quarter, in_owner_series)
        SELECT id, n, of_quarter, n, true FROM part ORDER BY id
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
    SELECT count(*), array_agg(link_id) FILTER (WHERE NOT in_owner_series) INTO written, others FROM added;
    -- A statement of its own: its snapshot is younger than the locks on these rows, for which a deletion of a link waits, too.
    -- So a link is either seen here, and its deletion sees these clicks, or is deleted, and has no part in the sums.
    INSERT INTO owner_series_log (owner_id, quarter, clicks)
    SELECT owner_id, of_quarter, sum(n) FROM (
        SELECT (SELECT owner_id FROM links WHERE links.id = pair.id) AS owner_id, n FROM unnest(ids, counts) AS pair (id, n)
        WHERE others IS NULL OR id <> ALL (others)
        OFFSET 0
    ) AS owned WHERE owner_id IS NOT NULL GROUP BY owner_id;
    RETURN written;
END
$$;

-- As in the step "link series"; what an instance of the version before adds is in the sums, too.
CREATE OR REPLACE FUNCTION link_quarter_ends() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    ended integer := OLD.quarter;
    moved bigint := OLD.in_quarter;
BEGIN
    IF NEW.quarter = OLD.quarter AND NEW.in_quarter = OLD.in_quarter AND NEW.late_writes = OLD.late_writes THEN
        NEW.quarter := greatest(OLD.quarter, quarter_now());
        NEW.in_quarter := NEW.clicks - OLD.clicks + CASE WHEN NEW.quarter = OLD.quarter THEN OLD.in_quarter ELSE 0 END;
        IF NEW.in_owner_series THEN
            INSERT INTO owner_series_log (owner_id, quarter, clicks)
            SELECT owner_id, NEW.quarter, NEW.clicks - OLD.clicks FROM links WHERE id = NEW.link_id;
        END IF;
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

-- Counts with which links are made, and first clicks that an instance of the version before counts.
CREATE FUNCTION owner_series_begin() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO owner_series_log (owner_id, quarter, clicks)
    SELECT owner_id, CASE NEW.quarter WHEN 0 THEN greatest(floor(extract(epoch FROM created_at) / 900), 1) ELSE NEW.quarter END,
        NEW.clicks
    FROM links WHERE id = NEW.link_id;
    UPDATE link_clicks SET in_owner_series = true WHERE link_id = NEW.link_id;
    RETURN NULL;
END
$$;
CREATE TRIGGER owner_series_begin AFTER INSERT ON link_clicks FOR EACH ROW
    WHEN (NOT NEW.in_owner_series) EXECUTE FUNCTION owner_series_begin();

-- A link that is deleted leaves the sums with all of its clicks. Its row in link_clicks is locked first, and made where there
-- is none: who adds clicks at this moment is waited for, or waits. Before the row goes: the version before deletes the row in
-- link_clicks in the same statement.
CREATE FUNCTION owner_series_less() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO link_clicks (link_id, clicks, in_owner_series) VALUES (OLD.id, 0, true) ON CONFLICT (link_id) DO NOTHING;
    PERFORM FROM link_clicks WHERE link_id = OLD.id FOR UPDATE;
    INSERT INTO owner_series_log (owner_id, quarter, clicks)
    SELECT OLD.owner_id, at, -sum(n) FROM link_clicks AS counted CROSS JOIN LATERAL (
        SELECT series.quarter AS at, series.clicks AS n FROM link_series AS series WHERE series.link_id = OLD.id
        UNION ALL
        SELECT CASE counted.quarter
                WHEN 0 THEN greatest(floor(extract(epoch FROM OLD.created_at) / 900), 1)::integer ELSE counted.quarter END,
            CASE counted.quarter WHEN 0 THEN counted.clicks ELSE counted.in_quarter END
    ) AS points WHERE counted.link_id = OLD.id AND counted.in_owner_series AND n > 0 GROUP BY at;
    RETURN OLD;
END
$$;
CREATE TRIGGER owner_series_less BEFORE DELETE ON links FOR EACH ROW EXECUTE FUNCTION owner_series_less();

CREATE FUNCTION owner_series_end() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM owner_series WHERE owner_id IN (SELECT id FROM deleted);
    DELETE FROM owner_series_log WHERE owner_id IN (SELECT id FROM deleted);
    RETURN NULL;
END
$$;
CREATE TRIGGER owner_series_end AFTER DELETE ON users REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION owner_series_end();

-- The bots of a link count for its owner until their rows are removed, also those that are added after its deletion.
CREATE FUNCTION owner_bots() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    of_link    bigint;
    of_quarter integer;
    added      bigint;
BEGIN
    IF TG_OP = 'DELETE' THEN
        of_link := OLD.link_id;
        of_quarter := OLD.quarter;
        added := -OLD.clicks;
    ELSE
        of_link := NEW.link_id;
        of_quarter := NEW.quarter;
        added := NEW.clicks;
        IF TG_OP = 'UPDATE' THEN
            added := NEW.clicks - OLD.clicks;
        END IF;
    END IF;
    INSERT INTO owner_series_log (owner_id, quarter, bots)
    SELECT owner_id, of_quarter, added FROM (
        SELECT coalesce((SELECT owner_id FROM links WHERE id = of_link), (SELECT owner_id FROM deleted_details WHERE link_id = of_link))
            AS owner_id
    ) AS owned WHERE owner_id IS NOT NULL;
    RETURN NULL;
END
$$;
CREATE TRIGGER owner_bots_begin AFTER INSERT ON link_bots FOR EACH ROW EXECUTE FUNCTION owner_bots();
CREATE TRIGGER owner_bots_more AFTER UPDATE ON link_bots FOR EACH ROW
    WHEN (OLD.in_owner_series AND NEW.clicks <> OLD.clicks) EXECUTE FUNCTION owner_bots();
CREATE TRIGGER owner_bots_end AFTER DELETE ON link_bots FOR EACH ROW
    WHEN (OLD.in_owner_series) EXECUTE FUNCTION owner_bots();

-- Takes the next rows from before this step into the sums. Returns a row for each; none once all are in.
CREATE FUNCTION take_into_owner_series(most integer) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
DECLARE
    state    owner_series_state;
    taken    bigint[];
    quarters integer[];
BEGIN
    SELECT * INTO state FROM owner_series_state FOR UPDATE;
    IF state.clicks_up_to < 0 THEN
        -- Waits for those who are in a function of the version before.
        LOCK TABLE link_clicks IN SHARE ROW EXCLUSIVE MODE;
    END IF;
    taken := ARRAY(SELECT link_id FROM link_clicks WHERE link_id > state.clicks_up_to ORDER BY link_id LIMIT most FOR UPDATE);
    IF cardinality(taken) > 0 THEN
        -- In statements of their own: their snapshots are younger than the locks.
        INSERT INTO owner_series_log (owner_id, quarter, clicks)
        SELECT owner_id, at, sum(n) FROM unnest(taken) AS id JOIN links USING (id)
        JOIN link_clicks AS counted ON counted.link_id = id CROSS JOIN LATERAL (
            SELECT series.quarter AS at, series.clicks AS n FROM link_series AS series WHERE series.link_id = id
            UNION ALL
            SELECT CASE counted.quarter
                    WHEN 0 THEN greatest(floor(extract(epoch FROM created_at) / 900), 1)::integer ELSE counted.quarter END,
                CASE counted.quarter WHEN 0 THEN counted.clicks ELSE counted.in_quarter END
        ) AS points WHERE NOT counted.in_owner_series AND n > 0 GROUP BY owner_id, at;
        UPDATE link_clicks SET in_owner_series = true WHERE link_id = ANY (taken) AND NOT in_owner_series;
        UPDATE owner_series_state SET clicks_up_to = (SELECT max(id) FROM unnest(taken) AS id);
        RETURN QUERY SELECT unnest(taken);
        RETURN;
    END IF;
    SELECT array_agg(link_id), array_agg(quarter) INTO taken, quarters FROM (
        SELECT link_id, quarter FROM link_bots WHERE (link_id, quarter) > (state.bots_up_to, state.bots_quarter)
        ORDER BY link_id, quarter LIMIT most FOR UPDATE
    ) AS next_rows;
    IF cardinality(taken) > 0 THEN
        INSERT INTO owner_series_log (owner_id, quarter, bots)
        SELECT owner_id, bots.quarter, sum(bots.clicks) FROM unnest(taken, quarters) AS row (link_id, quarter)
        JOIN link_bots AS bots USING (link_id, quarter) JOIN (
            SELECT id, owner_id FROM links UNION ALL SELECT link_id, owner_id FROM deleted_details
        ) AS owned ON owned.id = bots.link_id
        WHERE NOT bots.in_owner_series GROUP BY owner_id, bots.quarter;
        UPDATE link_bots SET in_owner_series = true
        WHERE (link_id, quarter) IN (SELECT * FROM unnest(taken, quarters)) AND NOT in_owner_series;
        UPDATE owner_series_state SET bots_up_to = taken[cardinality(taken)], bots_quarter = quarters[cardinality(quarters)];
        RETURN QUERY SELECT unnest(taken);
        RETURN;
    END IF;
    UPDATE owner_series_state SET is_whole = true;
END
$$;
