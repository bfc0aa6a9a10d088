-- The classes of clicks: what is kept of visitors. Each is a row once; '' is a value that is not known.
CREATE TABLE click_classes (
    id       INTEGER PRIMARY KEY,
    referrer TEXT NOT NULL,
    country  TEXT NOT NULL,
    browser  TEXT NOT NULL,
    os       TEXT NOT NULL,
    device   TEXT NOT NULL,
    bot      TEXT NOT NULL,
    UNIQUE (referrer, country, browser, os, device, bot)
) STRICT;

-- Packed classes of clicks that were counted, in the transaction that counted them, until a job sums them. Where limits are
-- given (JSON), no more clicks of a link were counted than those.
CREATE TABLE click_detail_queue (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    quarter INTEGER NOT NULL,
    details BLOB NOT NULL,
    limits  TEXT
) STRICT;

-- Clicks per link and class: by quarter of an hour for as long as the settings say, and by day (UTC) for ever. `at` is the first
-- quarter. The rows of days have all clicks, also those of quarters. Then the same over all links of an account.
CREATE TABLE link_details (
    link_id INTEGER NOT NULL,
    at INTEGER NOT NULL,
    class_id INTEGER NOT NULL,
    clicks INTEGER NOT NULL,
    PRIMARY KEY (link_id, at, class_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE link_detail_days (
    link_id INTEGER NOT NULL,
    at INTEGER NOT NULL,
    class_id INTEGER NOT NULL,
    clicks INTEGER NOT NULL,
    PRIMARY KEY (link_id, at, class_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE owner_details (
    owner_id INTEGER NOT NULL,
    at INTEGER NOT NULL,
    class_id INTEGER NOT NULL,
    clicks INTEGER NOT NULL,
    PRIMARY KEY (owner_id, at, class_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE owner_detail_days (
    owner_id INTEGER NOT NULL,
    at INTEGER NOT NULL,
    class_id INTEGER NOT NULL,
    clicks INTEGER NOT NULL,
    PRIMARY KEY (owner_id, at, class_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX link_details_at ON link_details (at);
CREATE INDEX owner_details_at ON owner_details (at);

-- Clicks of known bots by quarter, for ever: what a series is without.
CREATE TABLE link_bots (
    link_id INTEGER NOT NULL,
    quarter INTEGER NOT NULL,
    clicks  INTEGER NOT NULL,
    PRIMARY KEY (link_id, quarter)
) STRICT, WITHOUT ROWID;

-- Deleted links whose rows in these tables are to be removed.
CREATE TABLE deleted_details (
    link_id  INTEGER PRIMARY KEY,
    owner_id INTEGER NOT NULL
) STRICT;

CREATE TRIGGER link_details_end AFTER DELETE ON links
BEGIN
    INSERT OR IGNORE INTO deleted_details (link_id, owner_id) VALUES (old.id, old.owner_id);
END;

-- NULL where no class of the batch is known.
ALTER TABLE click_journal ADD COLUMN details BLOB;
