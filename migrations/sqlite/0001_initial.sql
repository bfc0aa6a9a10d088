-- Moments are microseconds since 1970 (UTC).
CREATE TABLE users (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    email         TEXT    NOT NULL,
    -- The address in lower case, made by the service: under this form it is unique.
    email_key     TEXT    NOT NULL UNIQUE,
    password_hash TEXT    NOT NULL,
    created_at    INTEGER NOT NULL
) STRICT;

CREATE TABLE links (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    short_code TEXT    NOT NULL UNIQUE,
    target_url TEXT    NOT NULL,
    owner_id   INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    clicks     INTEGER NOT NULL DEFAULT 0 CHECK (clicks >= 0),
    is_active  INTEGER NOT NULL DEFAULT 1 CHECK (is_active IN (0, 1)),
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX links_newest_first ON links (owner_id, created_at DESC, id DESC);

-- Codes of deleted links: never handed out again.
CREATE TABLE retired_codes (
    short_code TEXT PRIMARY KEY,
    retired_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Outbox: changes of links that instances may not have heard of.
CREATE TABLE link_changes (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    short_code TEXT NOT NULL
) STRICT;

-- The newest batch of every recorder that is no longer in the journal.
CREATE TABLE click_recorders (
    recorder   INTEGER PRIMARY KEY,
    last_batch INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL
) STRICT;

-- Batches of clicks that are not in the links yet, as a JSON object: link id to clicks. Held ones may
-- also be in Redis and do not count.
CREATE TABLE click_journal (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    recorder INTEGER NOT NULL,
    number   INTEGER NOT NULL,
    held     INTEGER NOT NULL,
    clicks   TEXT    NOT NULL,
    UNIQUE (recorder, number)
) STRICT;

-- The folding of the journal that is under way: batches up to `cut` are in the links up to `up_to`.
CREATE TABLE journal_fold (
    only_one INTEGER PRIMARY KEY CHECK (only_one = 1),
    cut      INTEGER NOT NULL,
    up_to    INTEGER NOT NULL
) STRICT;

-- Flushes from Redis: how far each is in the links.
CREATE TABLE flush_ledger (
    epoch      TEXT    NOT NULL,
    number     INTEGER NOT NULL,
    up_to      INTEGER NOT NULL,
    applied_at INTEGER NOT NULL,
    PRIMARY KEY (epoch, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX flush_ledger_applied_at ON flush_ledger (applied_at);
