-- What owners give their links besides a target.
ALTER TABLE links ADD COLUMN title TEXT NOT NULL DEFAULT '';
-- A JSON array of texts.
ALTER TABLE links ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';
-- NULL: since the link was made.
ALTER TABLE links ADD COLUMN updated_at INTEGER;
ALTER TABLE links ADD COLUMN expires_at INTEGER;
-- Redirects answered in all.
ALTER TABLE links ADD COLUMN max_clicks INTEGER;
-- Whether a visitor's query is added to that of the target.
ALTER TABLE links ADD COLUMN forward_query INTEGER NOT NULL DEFAULT 0;

-- A change of what a redirect needs is announced; the trigger link_changed does so for the other columns.
CREATE TRIGGER link_changed_in_use AFTER UPDATE OF expires_at, max_clicks, forward_query ON links
WHEN old.expires_at IS NOT new.expires_at OR old.max_clicks IS NOT new.max_clicks OR old.forward_query <> new.forward_query
BEGIN
    INSERT INTO link_changes (short_code) VALUES (old.short_code);
END;

-- The tags of links, in the order of an owner's list.
CREATE TABLE link_tags (
    link_id    INTEGER NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    tag        TEXT    NOT NULL,
    owner_id   INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (link_id, tag)
) STRICT, WITHOUT ROWID;
CREATE INDEX link_tags_newest_first ON link_tags (owner_id, tag, created_at DESC, link_id DESC);

CREATE TRIGGER link_made_with_tags AFTER INSERT ON links WHEN new.tags <> '[]'
BEGIN
    INSERT OR IGNORE INTO link_tags (link_id, tag, owner_id, created_at)
    SELECT new.id, value, new.owner_id, new.created_at FROM json_each(new.tags);
END;
CREATE TRIGGER link_tagged AFTER UPDATE OF tags ON links WHEN new.tags <> old.tags
BEGIN
    DELETE FROM link_tags WHERE link_id = new.id;
    INSERT OR IGNORE INTO link_tags (link_id, tag, owner_id, created_at)
    SELECT new.id, value, new.owner_id, new.created_at FROM json_each(new.tags);
END;

-- Whose a retired code was: its former owner may give it to a link again. This trigger may run before or after the one that
-- retires the code.
ALTER TABLE retired_codes ADD COLUMN owner_id INTEGER;
CREATE TRIGGER link_deleted_by_owner AFTER DELETE ON links
BEGIN
    INSERT INTO retired_codes (short_code, retired_at, owner_id)
    VALUES (old.short_code, CAST(strftime('%s', 'now') AS INTEGER) * 1000000, old.owner_id)
    ON CONFLICT (short_code) DO UPDATE SET owner_id = excluded.owner_id;
END;

-- How many clicks links with max_clicks were granted. A link that is made with a limit gets its row with it, any other one when
-- the clicks from before its limit are to be counted.
CREATE TABLE link_limits (
    link_id       INTEGER PRIMARY KEY REFERENCES links (id) ON DELETE CASCADE,
    -- Clicks from before the limit; NULL until they are counted.
    clicks_before INTEGER,
    -- The counting of them that was begun last; NULL where a click came that it may miss.
    counting      INTEGER,
    -- Clicks granted since.
    granted       INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TRIGGER link_made_with_limit AFTER INSERT ON links WHEN new.max_clicks IS NOT NULL
BEGIN
    INSERT INTO link_limits (link_id, clicks_before) VALUES (new.id, 0);
END;
-- A limit that comes or goes: clicks from outside of its time are not granted, and have to be counted before it.
CREATE TRIGGER link_limit_came_or_went AFTER UPDATE OF max_clicks ON links
WHEN (old.max_clicks IS NULL) <> (new.max_clicks IS NULL)
BEGIN
    DELETE FROM link_limits WHERE link_id = new.id;
END;

-- What was granted to each batch, for a process that did not get the answer: a JSON array of [link id, clicks, clicks left].
-- Of the latter there are fewer than 0 where the limit was lowered, NULL until the clicks before it are counted, and the
-- largest number where there is no limit any more.
CREATE TABLE click_grants (
    recorder   INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    grants     TEXT    NOT NULL,
    granted_at INTEGER NOT NULL,
    PRIMARY KEY (recorder, number)
) STRICT, WITHOUT ROWID;

-- Which link a request with an Idempotency-Key made, and a digest of what it asked for.
CREATE TABLE idempotency_keys (
    owner_id    INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    key         TEXT    NOT NULL,
    fingerprint BLOB    NOT NULL,
    link_id     INTEGER NOT NULL,
    short_code  TEXT    NOT NULL,
    used_at     INTEGER NOT NULL,
    PRIMARY KEY (owner_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_keys_used_at ON idempotency_keys (used_at);
