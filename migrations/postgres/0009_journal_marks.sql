-- An append to the journal leaves no dead row behind. Until now each one updated its recorder's row: while another
-- session held a snapshot (pg_dump), no old version of that row could go, and each append walked all of them.
--
-- The journal itself refuses a batch that it holds. Once batches leave it, the newest number of each recorder is kept
-- here: as a new row, found from its upper end, so that old rows cost an append nothing. click_recorders is left to
-- instances of the version before.
CREATE TABLE journal_marks (
    recorder     bigint      NOT NULL,
    number       bigint      NOT NULL,
    compacted_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (recorder, number)
);

-- Compaction asks for the newest ones.
CREATE INDEX journal_marks_compacted_at ON journal_marks (compacted_at);

-- A trigger, so that instances of the version before leave marks, too, when they compact the journal.
CREATE FUNCTION journal_left() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO journal_marks (recorder, number) SELECT recorder, max(number) FROM gone GROUP BY recorder
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;

CREATE TRIGGER journal_left AFTER DELETE ON click_journal REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION journal_left();

-- A repetition waits for the original to be committed or gone. The INSERT then has a snapshot of its own, taken after
-- the wait (READ COMMITTED), which shows the original: in the journal, or by its mark.
CREATE FUNCTION append_clicks(of_recorder bigint, with_number bigint, parked_in text, ids bigint[], counts bigint[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(of_recorder);
    INSERT INTO click_journal (recorder, number, held, epoch, link_ids, clicks)
    SELECT of_recorder, with_number, parked_in IS NOT NULL, parked_in, ids, counts
    WHERE NOT EXISTS (SELECT FROM click_journal WHERE recorder = of_recorder AND number >= with_number)
      AND NOT EXISTS (SELECT FROM journal_marks WHERE recorder = of_recorder AND number >= with_number);
END
$$;

-- Autovacuum looks at each table once a minute by default, and takes a fifth of a table for little.
--
-- The journal and the marks are nearly empty at all times, and their dead rows are what a reading has to pass: a share
-- of their size says nothing, so a thousand dead rows are enough, and it does not pause at its work. It never cuts off
-- empty pages at the end: that takes a lock that appends would wait for, and the next second needs the pages again.
ALTER TABLE click_journal SET (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
ALTER TABLE journal_marks SET (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
-- The ledger gets a row per flush and loses it a day later: small as well, but no redirect waits for it.
ALTER TABLE flush_ledger SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
-- Counts are updated in their pages, which are cleaned as they are read. What is left grows with the table; a fifth of
-- millions of rows would be many pages more to cache.
ALTER TABLE link_clicks SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
