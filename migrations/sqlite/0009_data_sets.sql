-- The ledger: one row for the lifetime of each data set of Redis. A term is a fencing token: it rises when a server is
-- taken into use, and a flush is written only under the term that is in the row.
CREATE TABLE data_sets (
    epoch          TEXT    PRIMARY KEY,
    -- What the data set's keys begin with. Of all rows with a tag, the one with the highest term is in use.
    tag            TEXT    NOT NULL,
    term           INTEGER NOT NULL UNIQUE,
    -- Of the server that the term is for.
    replication_id TEXT    NOT NULL,
    -- The newest flush, and up to which link it is written.
    flush          INTEGER NOT NULL DEFAULT 0,
    up_to          INTEGER NOT NULL DEFAULT 0,
    began_at       INTEGER NOT NULL,
    -- Set once another data set has taken its place: until then, its instances may still write its clicks back.
    drains_until   INTEGER
) STRICT;

CREATE INDEX data_sets_newest ON data_sets (tag, term);

-- Data sets of the version before get their tag and a term when they are next used.
INSERT INTO data_sets (epoch, tag, term, replication_id, flush, up_to, began_at)
    SELECT epoch, '', -row_number() OVER (), '', number, up_to, applied_at
    FROM flush_ledger AS newest
    WHERE up_to > 0 AND NOT EXISTS (
        SELECT 1 FROM flush_ledger AS newer
        WHERE newer.epoch = newest.epoch AND newer.number > newest.number AND newer.up_to > 0);

-- flush_ledger stays, for the version before; a later release removes it.
