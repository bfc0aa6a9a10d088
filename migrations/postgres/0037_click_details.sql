-- The classes of clicks: what is kept of visitors. Each is a row once; '' is a value that is not known.
CREATE TABLE click_classes (
    id       integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    referrer text NOT NULL,
    country  text NOT NULL,
    browser  text NOT NULL,
    os       text NOT NULL,
    device   text NOT NULL,
    bot      text NOT NULL,
    UNIQUE (referrer, country, browser, os, device, bot)
);

-- Packed classes of clicks that were counted, in the transaction that counted them, until a job sums them. Where limits are
-- given, no more clicks of a link were counted than those.
CREATE TABLE click_detail_queue (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    quarter     integer NOT NULL,
    details     bytea   NOT NULL,
    limit_links bigint[],
    limits      bigint[]
);
ALTER TABLE click_detail_queue SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

-- Clicks per link and class: by quarter of an hour for as long as the settings say, and by day (UTC) for ever. `at` is the first
-- quarter. The rows of days have all clicks, also those of quarters.
CREATE TABLE link_details (
    link_id  bigint  NOT NULL,
    at       integer NOT NULL,
    class_id integer NOT NULL,
    clicks   bigint  NOT NULL,
    PRIMARY KEY (link_id, at, class_id)
);
CREATE TABLE link_detail_days (
    link_id  bigint  NOT NULL,
    at       integer NOT NULL,
    class_id integer NOT NULL,
    clicks   bigint  NOT NULL,
    PRIMARY KEY (link_id, at, class_id)
);
-- The same over all links of an account.
CREATE TABLE owner_details (
    owner_id bigint  NOT NULL,
    at       integer NOT NULL,
    class_id integer NOT NULL,
    clicks   bigint  NOT NULL,
    PRIMARY KEY (owner_id, at, class_id)
);
CREATE TABLE owner_detail_days (
    owner_id bigint  NOT NULL,
    at       integer NOT NULL,
    class_id integer NOT NULL,
    clicks   bigint  NOT NULL,
    PRIMARY KEY (owner_id, at, class_id)
);
-- Rows come in the order of time, and go in it.
CREATE INDEX link_details_at ON link_details USING brin (at) WITH (pages_per_range = 16, autosummarize = on);
CREATE INDEX owner_details_at ON owner_details USING brin (at) WITH (pages_per_range = 16, autosummarize = on);

-- Clicks of known bots by quarter, for ever: what a series is without.
CREATE TABLE link_bots (
    link_id bigint  NOT NULL,
    quarter integer NOT NULL,
    clicks  bigint  NOT NULL,
    PRIMARY KEY (link_id, quarter)
);

-- Deleted links whose rows in these tables are to be removed, once nothing can be writing them any more.
CREATE TABLE deleted_details (
    link_id    bigint PRIMARY KEY,
    owner_id   bigint NOT NULL,
    deleted_at timestamptz NOT NULL DEFAULT now()
);

CREATE FUNCTION link_details_end() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO deleted_details (link_id, owner_id) SELECT id, owner_id FROM deleted ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
CREATE TRIGGER link_details_end AFTER DELETE ON links REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION link_details_end();

-- NULL where no class of the batch is known.
ALTER TABLE click_journal ADD COLUMN details bytea;

-- As append_clicks with six arguments (of the step "portable locks"), with the classes.
CREATE FUNCTION append_clicks(
    of_recorder bigint, with_number bigint, parked_in text, ids bigint[], counts bigint[], of_quarter integer, with_details bytea)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO click_journal (recorder, number, held, epoch, link_ids, clicks, quarter, details)
    SELECT of_recorder, with_number, parked_in IS NOT NULL, parked_in, ids, counts, of_quarter, with_details
    WHERE NOT EXISTS (SELECT FROM click_journal WHERE recorder = of_recorder AND number >= with_number)
      AND NOT EXISTS (SELECT FROM journal_marks WHERE recorder = of_recorder AND number >= with_number)
    ON CONFLICT (recorder, number) DO NOTHING;
    IF FOUND AND EXISTS (SELECT FROM journal_marks WHERE recorder = of_recorder AND number >= with_number) THEN
        DELETE FROM click_journal WHERE recorder = of_recorder AND number = with_number;
    END IF;
END
$$;

-- As compact_batches of these batches, with their classes.
CREATE FUNCTION compact_detailed_batches(
    of_recorders bigint[], with_numbers bigint[], OUT batch_count bigint, OUT link_count bigint, OUT click_count bigint)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off AS $$
BEGIN
    INSERT INTO click_detail_queue (quarter, details)
    SELECT coalesce(quarter, quarter_now()), details FROM click_journal
    WHERE (recorder, number) IN (SELECT * FROM unnest(of_recorders, with_numbers)) AND details IS NOT NULL;
    SELECT compacted.batch_count, compacted.link_count, compacted.click_count INTO batch_count, link_count, click_count
    FROM compact_batches(of_recorders, with_numbers) AS compacted;
END
$$;

-- As grant_clicks with five arguments of that step, with the classes. The same rows are the lock.
CREATE FUNCTION grant_clicks(
    of_recorder bigint, with_number bigint, ids bigint[], counts bigint[], of_quarter integer, with_details bytea)
RETURNS SETOF click_grants LANGUAGE plpgsql AS $$
DECLARE
    is_new boolean;
BEGIN
    PERFORM FROM link_limits WHERE link_id = ANY (ids) ORDER BY link_id FOR UPDATE;
    is_new := NOT EXISTS (SELECT FROM click_grants WHERE recorder = of_recorder AND number >= with_number);
    PERFORM grant_clicks(of_recorder, with_number, ids, counts, of_quarter);
    IF is_new AND with_details IS NOT NULL THEN
        INSERT INTO click_detail_queue (quarter, details, limit_links, limits)
        SELECT of_quarter, with_details, link_ids, clicks FROM click_grants
        WHERE recorder = of_recorder AND number = with_number;
    END IF;
    RETURN QUERY SELECT * FROM click_grants WHERE recorder = of_recorder AND number = with_number;
END
$$;
