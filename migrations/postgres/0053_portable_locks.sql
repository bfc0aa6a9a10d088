-- What the service needs of Postgres, without addresses of rows (ctid) and with rows as locks: servers that only speak its
-- protocol lack the former, and some the advisory locks, or have them for each of their nodes.

-- Row locks put terms of one tag in order. The version before has an advisory lock for this, which is taken as well until no
-- instance of that version is meant to run any more.
CREATE TABLE data_set_locks (
    tag text PRIMARY KEY
);

-- As the function with row addresses: the batches are named by their keys. Both settings keep the plan from reading the whole
-- journal, whose dead rows are many while another session holds a snapshot.
CREATE FUNCTION compact_batches(
    recorders bigint[], numbers bigint[], OUT batch_count bigint, OUT link_count bigint, OUT click_count bigint)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off AS $$
DECLARE
    step record;
BEGIN
    batch_count := 0;
    link_count := 0;
    click_count := 0;
    FOR step IN
        WITH taken AS (
            DELETE FROM click_journal WHERE (recorder, number) IN (SELECT * FROM unnest(recorders, numbers))
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

-- The primary key of the journal is the lock: a repetition waits at it until the original is committed or gone. Once it is
-- committed, the batch may be compacted already, too late for the snapshot of the INSERT. The next statement has a younger one
-- (READ COMMITTED), which shows the mark that compaction left.
CREATE OR REPLACE FUNCTION append_clicks(
    of_recorder bigint, with_number bigint, parked_in text, ids bigint[], counts bigint[], of_quarter integer)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO click_journal (recorder, number, held, epoch, link_ids, clicks, quarter)
    SELECT of_recorder, with_number, parked_in IS NOT NULL, parked_in, ids, counts, of_quarter
    WHERE NOT EXISTS (SELECT FROM click_journal WHERE recorder = of_recorder AND number >= with_number)
      AND NOT EXISTS (SELECT FROM journal_marks WHERE recorder = of_recorder AND number >= with_number)
    ON CONFLICT (recorder, number) DO NOTHING;
    IF FOUND AND EXISTS (SELECT FROM journal_marks WHERE recorder = of_recorder AND number >= with_number) THEN
        DELETE FROM click_journal WHERE recorder = of_recorder AND number = with_number;
    END IF;
END
$$;

-- The locks on the rows of limits, which put grants in order, are the lock here, too: a repetition asks for the same links. It is
-- refused by the primary key of click_grants in the one case without a common row: no link had a limit at the original, and one
-- got it meanwhile. Sent once more it gets the answer.
CREATE OR REPLACE FUNCTION grant_clicks(of_recorder bigint, with_number bigint, ids bigint[], counts bigint[], of_quarter integer)
RETURNS SETOF click_grants LANGUAGE plpgsql AS $$
DECLARE
    granted_ids    bigint[];
    granted_counts bigint[];
BEGIN
    PERFORM FROM link_limits WHERE link_id = ANY (ids) ORDER BY link_id FOR UPDATE;
    -- Statements of their own: their snapshots are younger than the locks, and show every grant before (READ COMMITTED).
    IF NOT EXISTS (SELECT FROM click_grants WHERE recorder = of_recorder AND number >= with_number) THEN
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
