-- The log gets each changed page whole, and a small batch changes one or two of this tree: of the row, of its index and
-- of the sequence it was three. Batches of a hundred links and more change as many as before.
CREATE TABLE batches (
    recorder INTEGER NOT NULL,
    number   INTEGER NOT NULL,
    held     INTEGER NOT NULL,
    epoch    TEXT,
    clicks   TEXT    NOT NULL,
    PRIMARY KEY (recorder, number)
) STRICT, WITHOUT ROWID;

-- How far the newest folding of the journal is: what it covers is in the links up to `up_to`.
CREATE TABLE folding (
    only_one INTEGER PRIMARY KEY CHECK (only_one = 1),
    number   INTEGER NOT NULL,
    up_to    INTEGER NOT NULL
) STRICT;

-- What the folding that is under way covers: each recorder's batches up to one. Empty when none is.
CREATE TABLE folding_cuts (
    recorder   INTEGER PRIMARY KEY,
    last_batch INTEGER NOT NULL
) STRICT;

INSERT INTO batches SELECT recorder, number, held, epoch, clicks FROM click_journal;
INSERT INTO folding SELECT only_one, 1, up_to FROM journal_fold;
INSERT INTO folding_cuts
    SELECT recorder, max(click_journal.number) FROM click_journal, journal_fold
    WHERE sequence <= cut AND NOT held GROUP BY recorder;

DROP TABLE journal_fold;
DROP TABLE click_journal;
ALTER TABLE batches RENAME TO click_journal;
