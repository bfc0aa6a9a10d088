-- The schema that 1.0 starts from. Later migrations stand beside this file and only add to it.
--
-- Moments are microseconds since 1970 (UTC). Clicks belong to intervals, which are quarters of an hour (UTC), numbered since
-- 1970 began.

-- # The database

-- Names this database among all, so that no instance takes the clicks of another database out of a Redis that both were given.
CREATE TABLE installation (
    only_one INTEGER PRIMARY KEY CHECK (only_one = 1),
    id       TEXT NOT NULL
) STRICT;
INSERT INTO installation (only_one, id) VALUES (1, lower(hex(randomblob(16))));

-- Statements that give ids out read it. With Postgres it has no row before the server is checked; a file needs no check.
CREATE VIEW checked_server AS SELECT '' AS server;

-- # Accounts

CREATE TABLE users (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    email         TEXT    NOT NULL,
    -- The address in lower case, made by the service: in this form it is unique.
    email_key     TEXT    NOT NULL UNIQUE,
    password_hash TEXT    NOT NULL,
    created_at    INTEGER NOT NULL,
    -- Names an account in its tokens beside the id: an id comes again if the file is restored from a copy, and the token of
    -- the account that had it must not be the next one's. Another key ends all tokens of an account:
    -- UPDATE users SET token_key = randomblob(16) WHERE id = …
    token_key     BLOB    NOT NULL DEFAULT (randomblob(16)),
    -- The tag of the language that the account chose for its pages; empty: the browser's.
    language      TEXT    NOT NULL DEFAULT '',
    -- A group is an account that nobody signs in to: it has a name, no password, and no real address. NULL: a person.
    group_name    TEXT
) STRICT;

-- The addresses that logged in to each account, as hashes: failed log-ins of strangers do not lock them out.
CREATE TABLE known_addresses (
    user_id   INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    address   INTEGER NOT NULL,
    last_used INTEGER NOT NULL,
    PRIMARY KEY (user_id, address)
) STRICT, WITHOUT ROWID;

-- Keys for programs. Only its owner knows the key itself; `hash` is the beginning of its SHA-256.
CREATE TABLE api_keys (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id      INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    hash         BLOB    NOT NULL,
    name         TEXT    NOT NULL,
    scope        TEXT    NOT NULL CHECK (scope IN ('read', 'write', 'create')),
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    -- As 2027-01-31.
    last_used_on TEXT,
    -- Of a key of a group, the member who made it.
    made_by      INTEGER,
    UNIQUE (user_id, hash)
) STRICT;

-- Who acts for which group, and how far: a viewer reads, an editor changes links, an owner has the members, the keys and the name, too.
CREATE TABLE group_members (
    group_id  INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    user_id   INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role      TEXT    NOT NULL CHECK (role IN ('viewer', 'editor', 'owner')),
    joined_at INTEGER NOT NULL,
    PRIMARY KEY (group_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX group_members_by_user ON group_members (user_id);

-- Sessions of browsers. Only the browser knows the cookie; `hash` is the beginning of its SHA-256. A session is valid for as
-- long as its account has the key that it had when the session began.
CREATE TABLE web_sessions (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id    INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    token_key  BLOB    NOT NULL,
    hash       BLOB    NOT NULL UNIQUE,
    agent      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    -- The session at the identity provider that began it, empty if the provider names none; NULL: a password began it.
    provider_session TEXT,
    -- Whether a second factor began it, beside a password.
    has_second_factor INTEGER NOT NULL DEFAULT 0,
    -- The group whose links its pages show; NULL: those of the account.
    group_id   INTEGER REFERENCES users (id) ON DELETE SET NULL
) STRICT;
CREATE INDEX web_sessions_by_user ON web_sessions (user_id);
CREATE INDEX web_sessions_by_group ON web_sessions (group_id) WHERE group_id IS NOT NULL;
CREATE INDEX web_sessions_by_end ON web_sessions (expires_at);
CREATE INDEX web_sessions_by_provider ON web_sessions (provider_session) WHERE provider_session IS NOT NULL;

-- Who signs in by an identity provider: the provider's own name of the person, which never changes.
CREATE TABLE identities (
    issuer    TEXT    NOT NULL,
    subject   TEXT    NOT NULL,
    user_id   INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    joined_at INTEGER NOT NULL,
    PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX identities_by_user ON identities (user_id);

-- Second factors: apps that show codes by time (RFC 6238). Codes up to `last_step`, which is a number of thirty seconds since 1970,
-- were used, and are good no more. `secret` is as the app has it: who reads it can make codes, though no password.
CREATE TABLE totp_factors (
    user_id   INTEGER PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    secret    BLOB    NOT NULL,
    last_step INTEGER NOT NULL,
    added_at  INTEGER NOT NULL
) STRICT;

-- Codes that stand for a lost app, each once. `hash` is the beginning of the SHA-256.
CREATE TABLE recovery_codes (
    user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    hash    BLOB    NOT NULL,
    PRIMARY KEY (user_id, hash)
) STRICT, WITHOUT ROWID;

-- Passkeys: keys in a device or a password manager, which sign in to the pages without a password. `credential` is the public key,
-- and what else webauthn-rs keeps of it. `used_at` is when the challenge of the last sign-in was made; older ones are good no more.
CREATE TABLE passkeys (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    credential_id BLOB    NOT NULL UNIQUE,
    credential    TEXT    NOT NULL,
    name          TEXT    NOT NULL,
    added_at      INTEGER NOT NULL,
    used_at       INTEGER
) STRICT;
CREATE INDEX passkeys_by_user ON passkeys (user_id);

-- Links that are mailed to owners of accounts, one an account and purpose: 'password' lets its owner choose another password, and
-- 'email' confirms `new_email`. `hash` is the beginning of the SHA-256 of the link's secret. A link works for as long as its account
-- has the key that it had when the link was made.
CREATE TABLE mailed_links (
    user_id    INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    purpose    TEXT    NOT NULL CHECK (purpose IN ('password', 'email')),
    token_key  BLOB    NOT NULL,
    hash       BLOB    NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    new_email  TEXT,
    PRIMARY KEY (user_id, purpose),
    CHECK ((purpose = 'email') = (new_email IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX mailed_links_by_end ON mailed_links (expires_at);

-- Accounts that were deleted and whose links are not all removed yet. Their links are unknown from the start; a background job
-- removes them in batches, and at the end the account's row, which keeps nothing but its id.
CREATE TABLE deleted_users (
    user_id    INTEGER PRIMARY KEY,
    deleted_at INTEGER NOT NULL
) STRICT;

-- # Links

-- Each alias of a link has a row of its own here, so that one constraint keeps all codes apart, and clicks are counted by code. Such a row
-- has a code, an id and the link, without an owner: no list and no sum of an owner has it. Triggers keep these rows as `aliases` says.
--
-- Codes of another host than that of BASE_URL are kept here and everywhere as the number of the domain, a slash and the code: `7/spring`.
-- So one column is the pair of domain and code, and keeps the codes of hosts apart.
CREATE TABLE links (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    short_code     TEXT    NOT NULL UNIQUE,
    -- 0: the host of BASE_URL.
    domain         INTEGER NOT NULL GENERATED ALWAYS AS (
        CASE WHEN instr(short_code, '/') > 0 THEN CAST(short_code AS INTEGER) ELSE 0 END) VIRTUAL,
    target_url     TEXT    NOT NULL,
    owner_id       INTEGER REFERENCES users (id) ON DELETE CASCADE,
    title          TEXT    NOT NULL DEFAULT '',
    -- A JSON array of texts.
    tags           TEXT    NOT NULL DEFAULT '[]',
    -- Whether a visitor's query is added to that of the target.
    forward_query  INTEGER NOT NULL DEFAULT 0,
    -- The private note of its owner.
    note           TEXT    NOT NULL DEFAULT '',
    -- Whether search engines are asked not to list the link.
    noindex        INTEGER NOT NULL DEFAULT 0,
    is_active      INTEGER NOT NULL DEFAULT 1 CHECK (is_active IN (0, 1)),
    created_at     INTEGER NOT NULL,
    -- NULL: since the link was made.
    updated_at     INTEGER,
    expires_at     INTEGER,
    -- How many redirects are answered in all; NULL: no limit.
    max_clicks     INTEGER,
    -- 410 or 451 while a removal covers the link: the largest of theirs.
    removed_status INTEGER,
    clicks         INTEGER NOT NULL DEFAULT 0 CHECK (clicks >= 0),
    -- The newest interval with clicks, 0 before the first, and the clicks in it; older ones are in link_series. A count with which
    -- a link was made belongs to the interval in which the link was made.
    interval       INTEGER NOT NULL DEFAULT 0,
    in_interval    INTEGER NOT NULL DEFAULT 0,
    starts_at      INTEGER,
    -- Where visitors are sent before the start, after the end, and once the clicks are used up.
    fallback_url   TEXT,
    -- The pool of targets that stands in the place of the target.
    pool           INTEGER,
    -- Of the password that visitors need: Argon2id, or bcrypt of an import.
    password_hash  TEXT,
    -- The rules of the link, as JSON; NULL if it has no rules.
    rules          TEXT,
    -- More codes of the link: a JSON array of texts.
    aliases        TEXT    NOT NULL DEFAULT '[]',
    -- Of an alias, its link.
    alias_of       INTEGER REFERENCES links (id),
    -- When its owner put the link into the bin, from which it may come back; 0: it is not there.
    trashed_at     INTEGER NOT NULL DEFAULT 0,
    -- The account that made the link, if the link was moved to another one. Its clicks stay in the sums of that account for ever, so
    -- that a move changes no sum: readers of the sums of either account put them right.
    made_by        INTEGER,
    CHECK (starts_at < expires_at),
    CHECK ((owner_id IS NULL) = (alias_of IS NOT NULL))
) STRICT;
CREATE INDEX links_by_link ON links (alias_of) WHERE alias_of IS NOT NULL;
CREATE INDEX links_moved_from ON links (made_by) WHERE made_by IS NOT NULL;
CREATE INDEX links_moved_to ON links (owner_id) WHERE made_by IS NOT NULL;

-- Links of accounts that are there, and that are not in a bin; the others are unknown already, and wait for their removal.
CREATE VIEW live_links AS
    SELECT * FROM links
    WHERE alias_of IS NULL AND trashed_at = 0 AND NOT EXISTS (SELECT 1 FROM deleted_users WHERE user_id = links.owner_id);

-- Which link has each code, and of an alias its own id.
CREATE VIEW link_codes AS
    SELECT short_code AS code, coalesce(alias_of, id) AS link_id, CASE WHEN alias_of IS NOT NULL THEN id END AS alias_id FROM links;

-- The orders of an owner's list: of all links, of the rarer statuses, and of links that end. The first one has the order of its bin, too.
CREATE INDEX links_newest_first ON links (owner_id, trashed_at, created_at DESC, id DESC);
CREATE INDEX inactive_links ON links (owner_id, trashed_at, created_at DESC, id DESC) WHERE NOT is_active;
CREATE INDEX scheduled_links ON links (owner_id, trashed_at, created_at DESC, id DESC) WHERE starts_at IS NOT NULL;
CREATE INDEX ending_links ON links (owner_id, trashed_at, created_at DESC, id DESC) WHERE expires_at IS NOT NULL;
CREATE INDEX limited_links ON links (owner_id, trashed_at, created_at DESC, id DESC) WHERE max_clicks IS NOT NULL;
CREATE INDEX removed_links ON links (owner_id, trashed_at, created_at DESC, id DESC) WHERE removed_status IS NOT NULL;
CREATE INDEX links_that_may_end ON links (owner_id, trashed_at, created_at DESC, id DESC)
    WHERE expires_at IS NOT NULL OR max_clicks IS NOT NULL OR removed_status IS NOT NULL;
CREATE INDEX links_by_end ON links (owner_id, trashed_at, expires_at, id) WHERE expires_at IS NOT NULL;
CREATE INDEX links_by_expiry ON links (expires_at, id) WHERE expires_at IS NOT NULL;
CREATE INDEX links_by_domain ON links (domain, owner_id, trashed_at, created_at DESC, id DESC) WHERE domain > 0;
CREATE INDEX links_in_bins ON links (trashed_at) WHERE trashed_at > 0;

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
CREATE TRIGGER link_tagged AFTER UPDATE OF tags ON links WHEN new.tags <> old.tags AND new.trashed_at = 0
BEGIN
    DELETE FROM link_tags WHERE link_id = new.id;
    INSERT OR IGNORE INTO link_tags (link_id, tag, owner_id, created_at)
    SELECT new.id, value, new.owner_id, new.created_at FROM json_each(new.tags);
END;

-- Codes of deleted links. The generator never draws them again, and only their former owner may give them to a link again.
CREATE TABLE retired_codes (
    short_code TEXT PRIMARY KEY,
    retired_at INTEGER NOT NULL,
    owner_id   INTEGER
) STRICT, WITHOUT ROWID;

-- Shares of statistics: who has the secret of one may read the statistics of its link. `hash` is the beginning of its SHA-256.
CREATE TABLE stats_shares (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    link_id    INTEGER NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    hash       BLOB    NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX stats_shares_by_link ON stats_shares (link_id);

-- The outbox: changes of links that instances may not know of yet.
CREATE TABLE link_changes (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    short_code TEXT NOT NULL,
    -- Of an alias, the code of its link: clicks are counted in the shard of that code.
    link_code  TEXT
) STRICT;
-- Whoever deletes a link takes its change out again once it is published, however many others are still unpublished.
CREATE INDEX link_changes_short_code ON link_changes (short_code);
CREATE VIEW unpublished_changes AS SELECT number, short_code, link_code FROM link_changes;

-- Whoever changes or deletes a link, also by hand, tells the service through the outbox. The code of a deleted link is
-- retired, whoever deleted the link or its owner; that of a removed link has no owner any more.
CREATE TRIGGER link_changed
AFTER UPDATE OF short_code, target_url, is_active, expires_at, max_clicks, forward_query, noindex, removed_status,
        starts_at, fallback_url, pool, password_hash, rules, trashed_at ON links
BEGIN
    INSERT INTO link_changes (short_code) VALUES (old.short_code);
    INSERT INTO link_changes (short_code, link_code)
    SELECT short_code, old.short_code FROM links WHERE old.aliases <> '[]' AND alias_of = old.id;
END;
-- A link takes its aliases with it; they go before it.
CREATE TRIGGER link_aliases_end BEFORE DELETE ON links WHEN old.aliases <> '[]'
BEGIN
    DELETE FROM links WHERE alias_of = old.id;
END;
CREATE TRIGGER link_deleted AFTER DELETE ON links WHEN old.alias_of IS NULL
BEGIN
    -- The links of a deleted account were announced with it, and a link in a bin when it was put there.
    INSERT INTO link_changes (short_code)
    SELECT old.short_code
    WHERE old.trashed_at = 0 AND NOT EXISTS (SELECT 1 FROM deleted_users WHERE user_id = old.owner_id);
    INSERT INTO retired_codes (short_code, retired_at, owner_id)
    VALUES (old.short_code, CAST(strftime('%s', 'now') AS INTEGER) * 1000000,
        CASE WHEN old.removed_status IS NULL THEN old.owner_id END)
    ON CONFLICT (short_code) DO UPDATE SET retired_at = excluded.retired_at, owner_id = excluded.owner_id;
END;
CREATE TRIGGER alias_deleted AFTER DELETE ON links WHEN old.alias_of IS NOT NULL
BEGIN
    INSERT INTO link_changes (short_code, link_code)
    SELECT old.short_code, short_code FROM links
    WHERE id = old.alias_of AND trashed_at = 0 AND NOT EXISTS (SELECT 1 FROM deleted_users WHERE user_id = owner_id);
    INSERT INTO retired_codes (short_code, retired_at, owner_id)
    SELECT old.short_code, CAST(strftime('%s', 'now') AS INTEGER) * 1000000, CASE WHEN removed_status IS NULL THEN owner_id END
    FROM links WHERE id = old.alias_of
    ON CONFLICT (short_code) DO UPDATE SET retired_at = excluded.retired_at, owner_id = excluded.owner_id;
END;

-- The rows of aliases. A code that is in use, or retired by another owner, gets no row: the transaction that sets the list checks this afterwards.
CREATE TRIGGER link_made_with_aliases AFTER INSERT ON links WHEN new.aliases <> '[]'
BEGIN
    INSERT INTO links (short_code, alias_of, target_url, created_at)
    SELECT value, new.id, '', new.created_at FROM json_each(new.aliases)
    WHERE NOT EXISTS (SELECT 1 FROM retired_codes WHERE short_code = value AND owner_id IS NOT new.owner_id)
    ON CONFLICT (short_code) DO NOTHING;
END;
CREATE TRIGGER link_aliased AFTER UPDATE OF aliases ON links WHEN new.aliases <> old.aliases
BEGIN
    DELETE FROM links WHERE alias_of = new.id AND short_code NOT IN (SELECT value FROM json_each(new.aliases));
    INSERT INTO links (short_code, alias_of, target_url, created_at)
    SELECT value, new.id, '', new.created_at FROM json_each(new.aliases)
    WHERE NOT EXISTS (SELECT 1 FROM retired_codes WHERE short_code = value AND owner_id IS NOT new.owner_id)
    ON CONFLICT (short_code) DO NOTHING;
END;
CREATE TRIGGER alias_made AFTER INSERT ON links WHEN new.alias_of IS NOT NULL
BEGIN
    INSERT INTO link_changes (short_code, link_code) SELECT new.short_code, short_code FROM links WHERE id = new.alias_of;
END;

-- # Hosts

-- Hosts beside that of BASE_URL, each with codes of its own. A number never comes again.
CREATE TABLE domains (
    id                          INTEGER PRIMARY KEY AUTOINCREMENT,
    -- As it was given, with its port.
    host                        TEXT    NOT NULL,
    -- In lower case, without a port: as requests name it.
    name                        TEXT    NOT NULL UNIQUE,
    root_url                    TEXT,
    not_found_url               TEXT,
    assetlinks                  TEXT,
    apple_app_site_association  TEXT,
    -- Whether every account may make links there; otherwise only the accounts in domain_owners may.
    for_all                     INTEGER NOT NULL DEFAULT 0 CHECK (for_all IN (0, 1)),
    created_at                  INTEGER NOT NULL
) STRICT;

CREATE TABLE domain_owners (
    domain_id INTEGER NOT NULL REFERENCES domains (id) ON DELETE CASCADE,
    user_id   INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    PRIMARY KEY (domain_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX domain_owners_by_user ON domain_owners (user_id);

-- The process learns of a change through the outbox, as of a change of links: the code is empty.
CREATE TRIGGER domain_made AFTER INSERT ON domains
BEGIN
    INSERT INTO link_changes (short_code) VALUES (new.id || '/');
END;
CREATE TRIGGER domain_changed AFTER UPDATE ON domains
BEGIN
    INSERT INTO link_changes (short_code) VALUES (new.id || '/');
END;
CREATE TRIGGER domain_removed AFTER DELETE ON domains
BEGIN
    INSERT INTO link_changes (short_code) VALUES (old.id || '/');
END;

-- No link is made on a host that is removed at the same moment.
CREATE TRIGGER link_of_domain AFTER INSERT ON links
WHEN new.domain > 0 AND NOT EXISTS (SELECT 1 FROM domains WHERE id = new.domain)
BEGIN
    SELECT RAISE(ABORT, 'there is no such domain');
END;

-- How many links and aliases each account has, so that a quota needs no count. Triggers keep it, also for statements by hand.
CREATE TABLE link_totals (
    owner_id INTEGER PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    links    INTEGER NOT NULL,
    aliases  INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TRIGGER link_totals_begin AFTER INSERT ON users BEGIN
    INSERT INTO link_totals (owner_id, links) VALUES (NEW.id, 0);
END;
CREATE TRIGGER link_totals_add AFTER INSERT ON links WHEN new.alias_of IS NULL BEGIN
    UPDATE link_totals SET links = links + 1 WHERE owner_id = NEW.owner_id;
END;
CREATE TRIGGER link_totals_subtract AFTER DELETE ON links WHEN old.alias_of IS NULL AND old.trashed_at = 0 BEGIN
    UPDATE link_totals SET links = links - 1 WHERE owner_id = OLD.owner_id;
END;
CREATE TRIGGER alias_totals_add AFTER INSERT ON links WHEN new.alias_of IS NOT NULL BEGIN
    UPDATE link_totals SET aliases = aliases + 1 WHERE owner_id = (SELECT owner_id FROM links WHERE id = new.alias_of);
END;
CREATE TRIGGER alias_totals_subtract AFTER DELETE ON links WHEN old.alias_of IS NOT NULL BEGIN
    UPDATE link_totals SET aliases = aliases - 1
    WHERE owner_id = (SELECT owner_id FROM links WHERE id = old.alias_of AND trashed_at = 0);
END;

-- A link that goes into the bin leaves its tags and the number of its owner's links. Its codes are retired as the codes of a deleted link
-- are, and stay so when it comes back.
CREATE TRIGGER link_trashed AFTER UPDATE OF trashed_at ON links WHEN old.trashed_at = 0 AND new.trashed_at > 0
BEGIN
    UPDATE link_totals SET links = links - 1, aliases = aliases - json_array_length(new.aliases) WHERE owner_id = new.owner_id;
    DELETE FROM link_tags WHERE link_id = new.id;
    INSERT INTO retired_codes (short_code, retired_at, owner_id)
    SELECT value, new.trashed_at, CASE WHEN new.removed_status IS NULL THEN new.owner_id END
    FROM (SELECT new.short_code AS value UNION ALL SELECT value FROM json_each(new.aliases)) WHERE true
    ON CONFLICT (short_code) DO UPDATE SET retired_at = excluded.retired_at, owner_id = excluded.owner_id;
END;
CREATE TRIGGER link_restored AFTER UPDATE OF trashed_at ON links WHEN old.trashed_at > 0 AND new.trashed_at = 0
BEGIN
    UPDATE link_totals SET links = links + 1, aliases = aliases + json_array_length(new.aliases) WHERE owner_id = new.owner_id;
    INSERT OR IGNORE INTO link_tags (link_id, tag, owner_id, created_at)
    SELECT new.id, value, new.owner_id, new.created_at FROM json_each(new.tags);
END;

-- A link that is moved takes its tags along, and its codes leave the total of one account for that of the other.
CREATE TRIGGER link_moved AFTER UPDATE OF owner_id ON links WHEN old.owner_id <> new.owner_id
BEGIN
    UPDATE links SET made_by = nullif(coalesce(old.made_by, old.owner_id), new.owner_id) WHERE id = new.id;
    UPDATE link_tags SET owner_id = new.owner_id WHERE link_id = new.id;
    UPDATE link_totals SET links = links - 1, aliases = aliases - json_array_length(new.aliases)
    WHERE owner_id = old.owner_id AND new.trashed_at = 0;
    UPDATE link_totals SET links = links + 1, aliases = aliases + json_array_length(new.aliases)
    WHERE owner_id = new.owner_id AND new.trashed_at = 0;
END;

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

-- # Counts

-- The sums of a link's older intervals. So counting writes one row of links, and moves a sum here when an interval ends.
CREATE TABLE link_series (
    link_id  INTEGER NOT NULL,
    interval INTEGER NOT NULL,
    clicks   INTEGER NOT NULL CHECK (clicks >= 0),
    PRIMARY KEY (link_id, interval)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER link_interval_ends AFTER UPDATE OF interval ON links WHEN new.interval <> old.interval AND old.in_interval > 0
BEGIN
    INSERT INTO link_series (link_id, interval, clicks) VALUES (old.id, old.interval, old.in_interval)
    ON CONFLICT (link_id, interval) DO UPDATE SET clicks = clicks + excluded.clicks;
END;
CREATE TRIGGER link_series_ends AFTER DELETE ON links
BEGIN
    DELETE FROM link_series WHERE link_id = old.id;
END;

-- # The journal

-- Batches of clicks that are not in the counts yet, as a JSON object: link id to clicks; and batches that are, until their classes
-- are in the sums. Parked ones may also be in Redis and do not count. The log gets each changed page whole, and a small batch changes one or two of this tree; with a row id, an index
-- and a sequence it would be three.
CREATE TABLE click_journal (
    recorder INTEGER NOT NULL,
    number   INTEGER NOT NULL,
    parked   INTEGER NOT NULL,
    -- The epoch of the Redis data set that a parked batch may be in.
    epoch    TEXT,
    interval INTEGER NOT NULL,
    clicks   TEXT    NOT NULL,
    -- Of a parked batch, the owners of its links in their order, as a JSON array.
    owners   TEXT,
    -- Packed classes; NULL if no class of the batch is known.
    details  BLOB,
    PRIMARY KEY (recorder, number)
) STRICT, WITHOUT ROWID;
-- Every reading of counts asks whether batches are parked, however long the journal is. Other batches cost nothing.
CREATE INDEX click_journal_parked ON click_journal (recorder, number) WHERE parked;
CREATE VIEW parked_batches AS SELECT * FROM click_journal WHERE parked;

-- The newest batch of every recorder that is no longer in the journal.
CREATE TABLE click_recorders (
    recorder   INTEGER PRIMARY KEY,
    last_batch INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    -- Up to which of its batches those in the journal are in the counts, and stay there for their classes only.
    counted    INTEGER,
    -- Up to which of its batches those in the journal are in the feeds of events.
    told       INTEGER
) STRICT;

-- How far the newest compaction of the journal is: what it covers is in the links up to `up_to`.
CREATE TABLE compaction (
    only_one INTEGER PRIMARY KEY CHECK (only_one = 1),
    number   INTEGER NOT NULL,
    up_to    INTEGER NOT NULL
) STRICT;

-- What the compaction that is under way covers: each recorder's batches up to one. Empty when none is.
CREATE TABLE compaction_cuts (
    recorder   INTEGER PRIMARY KEY,
    last_batch INTEGER NOT NULL
) STRICT;

-- # Limits

-- How many clicks links with max_clicks were granted. A link that is made with a limit gets its row with it, any other one when
-- the clicks from before its limit are to be counted.
CREATE TABLE link_limits (
    link_id       INTEGER PRIMARY KEY REFERENCES links (id) ON DELETE CASCADE,
    -- Clicks from before the limit; NULL until they are counted.
    clicks_before INTEGER,
    -- The counting of them that was begun last; NULL if a click came that it may miss.
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
-- Of the latter there are fewer than 0 if the limit was lowered, NULL until the clicks before it are counted, and the
-- largest number if there is no limit any more.
CREATE TABLE click_grants (
    recorder   INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    grants     TEXT    NOT NULL,
    granted_at INTEGER NOT NULL,
    PRIMARY KEY (recorder, number)
) STRICT, WITHOUT ROWID;

-- # Pools

-- Targets of which each visitor of a link gets the next one, in their order. A pool
-- that is emptied gets another id: what an instance took from it before, and no visitor got, is worth nothing.
CREATE TABLE pools (
    id      INTEGER PRIMARY KEY,
    link_id INTEGER NOT NULL UNIQUE REFERENCES links (id) ON DELETE CASCADE,
    -- Targets that were ever added, and how many of them were taken.
    size    INTEGER NOT NULL DEFAULT 0,
    given   INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The targets, some to a row.
CREATE TABLE pool_targets (
    pool    INTEGER NOT NULL REFERENCES pools (id) ON DELETE CASCADE,
    -- The place of the first of them among all of the pool.
    first   INTEGER NOT NULL,
    -- A JSON array of texts.
    targets TEXT   NOT NULL,
    PRIMARY KEY (pool, first)
) STRICT;

-- What each process took last, for one that did not get the answer.
CREATE TABLE pool_takes (
    pool     INTEGER NOT NULL REFERENCES pools (id) ON DELETE CASCADE,
    process  INTEGER NOT NULL,
    number   INTEGER NOT NULL,
    first    INTEGER NOT NULL,
    targets  INTEGER NOT NULL,
    taken_at INTEGER NOT NULL,
    PRIMARY KEY (pool, process)
) STRICT;

-- # Sums by owner

-- Sums over all links of an account: clicks by interval, as in link_series and links. The transaction that counts clicks adds to
-- them.
CREATE TABLE owner_series (
    owner_id INTEGER NOT NULL,
    interval INTEGER NOT NULL,
    clicks   INTEGER NOT NULL,
    PRIMARY KEY (owner_id, interval)
) STRICT, WITHOUT ROWID;

-- Clicks of all links that were counted, by the day of UTC on which they came, for administrators. The transaction that counts clicks adds
-- to them, and no deletion of a link subtracts from them.
CREATE TABLE service_days (
    -- Days since 1970.
    day    INTEGER PRIMARY KEY,
    clicks INTEGER NOT NULL
) STRICT;

CREATE TRIGGER owner_series_end AFTER DELETE ON users
BEGIN
    DELETE FROM owner_series WHERE owner_id = old.id;
END;

-- A link that is deleted leaves the sums with all of its clicks, before the trigger that removes its series. An account that is gone has
-- no sums.
CREATE TRIGGER owner_series_less BEFORE DELETE ON links WHEN old.clicks > 0 AND old.alias_of IS NULL
    AND EXISTS (SELECT 1 FROM users WHERE id = coalesce(old.made_by, old.owner_id))
BEGIN
    INSERT INTO owner_series (owner_id, interval, clicks)
    SELECT coalesce(old.made_by, old.owner_id), interval, -clicks FROM link_series WHERE link_id = old.id
    UNION ALL SELECT coalesce(old.made_by, old.owner_id), old.interval, -old.in_interval WHERE true
    ON CONFLICT (owner_id, interval) DO UPDATE SET clicks = clicks + excluded.clicks;
END;

-- # Classes of clicks

-- What is kept of visitors. Each class is a row once; '' is a value that is not known.
CREATE TABLE click_classes (
    id       INTEGER PRIMARY KEY,
    referrer TEXT NOT NULL,
    country  TEXT NOT NULL,
    browser  TEXT NOT NULL,
    os       TEXT NOT NULL,
    device   TEXT NOT NULL,
    rule     TEXT NOT NULL,
    -- The alias that was followed; '' is the link's own code.
    code     TEXT NOT NULL,
    bot      TEXT NOT NULL,
    UNIQUE (referrer, country, browser, os, device, rule, code, bot)
) STRICT;
-- Those of which nothing is known but whether it was a known bot: clicks for whose class there is no room have them.
INSERT INTO click_classes (referrer, country, browser, os, device, rule, code, bot)
VALUES ('', '', '', '', '', '', '', ''), ('', '', '', '', '', '', '', 'true'), ('', '', '', '', '', '', '', 'false');

-- Classes of clicks that were counted without the journal are batches of a recorder of their own, which are in the counts.
INSERT INTO click_recorders (recorder, last_batch, seen_at, counted, told)
VALUES (-1, 0, 9223372036854775807, 9223372036854775807, NULL),
    -- Those with which links start, which are in the feeds of events with their link.
    (-2, 0, 9223372036854775807, 9223372036854775807, 9223372036854775807),
    -- Those of which no class is kept, which wait for the feeds of events only.
    (-3, 0, 9223372036854775807, 9223372036854775807, NULL);

-- How many sums are added, in their order, of the classes that are summed together: classes of each recorder's batches up to one. First
-- come the sums of links, then the sums of their owners. NULL if no classes are being summed.
CREATE TABLE click_details_summing (
    only_row  INTEGER PRIMARY KEY CHECK (only_row = 1),
    of_owners INTEGER NOT NULL,
    added     INTEGER
) STRICT;
INSERT INTO click_details_summing (only_row, of_owners, added) VALUES (1, 0, NULL);

CREATE TABLE click_details_cuts (
    recorder   INTEGER PRIMARY KEY,
    last_batch INTEGER NOT NULL
) STRICT;

-- What was added to links and is still to be added to their owners, packed as in the journal, with owners in the place of links: the day
-- of an owner is a long row, which is written once for all of its links.
CREATE TABLE click_details_of_owners (
    id       INTEGER PRIMARY KEY,
    interval INTEGER NOT NULL,
    details  BLOB    NOT NULL
) STRICT;

-- Clicks by class of one day (UTC): of a link, whose id is `whose`, or of all links of an account, whose id is `-whose`. `day` is the
-- day's first interval. The key begins with the day, so that clicks of today change one small part of the tree. The packed form
-- is that of `class_day` in the code.
CREATE TABLE class_days (
    day      INTEGER NOT NULL,
    whose    INTEGER NOT NULL,
    -- Clicks of known bots by quarter of an hour, for ever: what a series is without.
    bots     BLOB    NOT NULL,
    -- Clicks by class in the quarters that have left the row.
    ended    BLOB    NOT NULL,
    -- Clicks by quarter and class in the other quarters.
    quarters BLOB    NOT NULL,
    PRIMARY KEY (day, whose)
) STRICT, WITHOUT ROWID;

-- Quarters that have left their row: several rows of a day, and a quarter may be in more than one of them.
CREATE TABLE class_quarters (
    day      INTEGER NOT NULL,
    whose    INTEGER NOT NULL,
    number   INTEGER NOT NULL,
    quarters BLOB    NOT NULL,
    PRIMARY KEY (day, whose, number)
) STRICT, WITHOUT ROWID;

-- Up to which row of class_days the quarters are summed, because they are not kept any more.
CREATE TABLE class_days_pruned (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    day      INTEGER NOT NULL,
    whose    INTEGER NOT NULL
) STRICT;
INSERT INTO class_days_pruned (only_row, day, whose) VALUES (1, 0, 0);

-- How many classes were new in a quarter of a link, over all quarters of each day (UTC). `at` is its first interval.
CREATE TABLE click_detail_growth (
    at       INTEGER PRIMARY KEY,
    new_rows INTEGER NOT NULL
) STRICT;

-- Deleted links whose rows in these tables are to be removed, also from the sums of their owners; and deleted accounts, whose id is
-- `-link_id`. Bots of deleted links are in the days of their owner until then; readers subtract them.
CREATE TABLE deleted_details (
    link_id  INTEGER PRIMARY KEY,
    owner_id INTEGER NOT NULL
) STRICT;
CREATE INDEX deleted_details_owner ON deleted_details (owner_id);

CREATE TRIGGER link_details_end AFTER DELETE ON links WHEN old.alias_of IS NULL
BEGIN
    INSERT OR IGNORE INTO deleted_details (link_id, owner_id) VALUES (old.id, coalesce(old.made_by, old.owner_id));
END;
CREATE TRIGGER owner_details_end AFTER DELETE ON users
BEGIN
    INSERT OR IGNORE INTO deleted_details (link_id, owner_id) VALUES (-old.id, old.id);
END;

-- # Redis

-- The ledger: one row for the lifetime of each data set of Redis. A term is a fencing token: it rises when a server is
-- taken into use, and a flush is written only under the term that is in the row.
CREATE TABLE data_sets (
    epoch          TEXT PRIMARY KEY,
    -- What the data set's keys begin with. Of all rows with a tag, the one with the highest term is in use.
    tag            TEXT    NOT NULL,
    term           INTEGER NOT NULL UNIQUE,
    -- Of the server that the term is for.
    replication_id TEXT    NOT NULL,
    -- The newest flush, its unique name, and up to which link it is written. A number comes again if a data set went back
    -- unnoticed; a name does not.
    flush          INTEGER NOT NULL DEFAULT 0,
    flush_name     TEXT    NOT NULL DEFAULT '',
    up_to          INTEGER NOT NULL DEFAULT 0,
    -- The moment up to which all clicks that the data set was given are written back: answers name it while Redis is away.
    written_up_to  INTEGER,
    began_at       INTEGER NOT NULL,
    -- Set once another data set has taken its place: until then, its instances may still write its clicks back.
    drains_until   INTEGER
) STRICT;
CREATE INDEX data_sets_newest ON data_sets (tag, term);

-- Into how many shards the data sets of a Redis Cluster are divided, for each prefix of keys: all instances have the same
-- number, and former data sets are written back before the number changes.
CREATE TABLE redis_shards (
    prefix TEXT PRIMARY KEY,
    shards INTEGER NOT NULL
) STRICT;

-- # Against abuse

-- Accounts that administer the service.
CREATE TABLE user_roles (
    user_id    INTEGER PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    -- admin
    role       TEXT    NOT NULL,
    granted_at INTEGER NOT NULL
) STRICT;

-- Open invitations: who may make an account with this address. The link has a secret, of which `hash` is the beginning of its
-- SHA-256. An invitation that is used or revoked is gone.
CREATE TABLE invitations (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    email      TEXT    NOT NULL,
    email_key  TEXT    NOT NULL UNIQUE,
    -- admin, or empty
    role       TEXT    NOT NULL,
    -- The group that the account joins, and its role there.
    group_id   INTEGER REFERENCES users (id) ON DELETE SET NULL,
    group_role TEXT,
    hash       BLOB    NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX invitations_by_group ON invitations (group_id) WHERE group_id IS NOT NULL;
CREATE INDEX invitations_by_end ON invitations (expires_at);

-- What administrators did.
CREATE TABLE audit_log (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    at      INTEGER NOT NULL,
    -- NULL: an operator on the command line, or the service.
    user_id INTEGER,
    address TEXT    NOT NULL,
    action  TEXT    NOT NULL,
    subject TEXT    NOT NULL,
    detail  TEXT    NOT NULL
) STRICT;
CREATE INDEX audit_log_by_time ON audit_log (at);

-- What the service's administrators take away. A link may be covered by several removals, and is removed while one of them
-- covers it.
CREATE TABLE removals (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    -- link, host, user, address, or blocklist: the service's own, of all that the list covers.
    kind          TEXT    NOT NULL,
    value         TEXT    NOT NULL,
    reason        TEXT    NOT NULL,
    -- 410 or 451.
    status        INTEGER NOT NULL,
    -- The account whose work it was; NULL: an operator on the command line, or the service.
    removed_by    INTEGER,
    removed_at    INTEGER NOT NULL,
    revoked_at    INTEGER,
    -- Links are scanned from after this position on, to be removed or restored; NULL: the scan is over.
    scan_position INTEGER,
    -- When they are scanned once more, for links that were made meanwhile; NULL: during the first scan.
    rescan_at     INTEGER,
    -- Of the blocklist: which one it is.
    digest        TEXT
) STRICT;
CREATE INDEX removals_to_scan ON removals (id) WHERE scan_position IS NOT NULL;
CREATE UNIQUE INDEX removals_in_force ON removals (kind, value) WHERE revoked_at IS NULL;

-- Which links each removal covers.
CREATE TABLE link_removals (
    link_id    INTEGER NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    removal_id INTEGER NOT NULL REFERENCES removals (id),
    status     INTEGER NOT NULL,
    PRIMARY KEY (link_id, removal_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX link_removals_by_removal ON link_removals (removal_id, link_id);

-- Banned accounts. Their password is kept here meanwhile: the one in users is no hash, so that nothing logs them in.
CREATE TABLE banned_users (
    user_id       INTEGER PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    password_hash TEXT    NOT NULL,
    removal_id    INTEGER NOT NULL REFERENCES removals (id)
) STRICT;

-- What a request may name an account by: the key in its tokens, or a key for programs; and a group, by the key in the tokens of each
-- member. Each statement in the name of an account looks here, so that what has ended is refused without a further query: also the
-- token of a member who was removed.
CREATE VIEW account_keys (user_id, key) AS
    SELECT id, token_key FROM users
    UNION ALL
    SELECT user_id, hash FROM api_keys WHERE expires_at IS NULL OR expires_at > (julianday('now') - 2440587.5) * 86400000000
    UNION ALL
    SELECT group_id, token_key FROM group_members JOIN users ON users.id = group_members.user_id
    WHERE NOT EXISTS (SELECT 1 FROM banned_users WHERE banned_users.user_id = group_id);

-- The addresses that links were made from, for AUDIT_DAYS.
CREATE TABLE link_addresses (
    link_id  INTEGER PRIMARY KEY REFERENCES links (id) ON DELETE CASCADE,
    address  TEXT    NOT NULL,
    noted_at INTEGER NOT NULL
) STRICT;

-- Links that visitors reported.
CREATE TABLE reports (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    link_id     INTEGER NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    reason      TEXT    NOT NULL,
    address     TEXT    NOT NULL,
    reported_at INTEGER NOT NULL,
    -- When an administrator closed it; NULL: it is open.
    closed_at   INTEGER
) STRICT;
CREATE INDEX reports_by_link ON reports (link_id);
CREATE INDEX open_reports ON reports (link_id, id) WHERE closed_at IS NULL;
CREATE INDEX closed_reports ON reports (closed_at, id) WHERE closed_at IS NOT NULL;
CREATE INDEX reports_by_time ON reports (reported_at);

-- # Events

-- What happened to links, until it has its place in the feed of their account. Triggers write it, in the transaction in which it happens,
-- also by hand. Clicks wait in the journal.
CREATE TABLE event_queue (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    owner_id   INTEGER NOT NULL,
    link_id    INTEGER NOT NULL,
    type       TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    short_code TEXT    NOT NULL,
    target_url TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    tags       TEXT    NOT NULL,
    -- Of a link that is made, the clicks with which it starts.
    clicks     INTEGER NOT NULL DEFAULT 0,
    -- Of a link that is moved, its new owner.
    moved_to   INTEGER
) STRICT;
CREATE INDEX event_queue_by_link ON event_queue (link_id);

-- The feeds. A step gives the next places to all that waits; its number is its place among all steps. `first` counts the events of an
-- account within a step. A row is one event of a link, or the clicks of one interval, packed as classes are, with an event for each link.
CREATE TABLE events (
    owner_id   INTEGER NOT NULL,
    step       INTEGER NOT NULL,
    first      INTEGER NOT NULL,
    size       INTEGER NOT NULL,
    type       TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    -- When it got its place.
    told_at    INTEGER NOT NULL,
    link_id    INTEGER,
    short_code TEXT,
    target_url TEXT,
    title      TEXT,
    tags       TEXT,
    clicks     INTEGER,
    interval   INTEGER,
    classes    BLOB,
    PRIMARY KEY (owner_id, step, first)
) STRICT, WITHOUT ROWID;
CREATE INDEX events_by_step ON events (step, owner_id);
-- Codes of links that are gone.
CREATE INDEX events_by_link ON events (owner_id, link_id) WHERE link_id IS NOT NULL;

-- The newest step, and the link that expired last of those whose end is noted.
CREATE TABLE event_steps (
    only_one   INTEGER PRIMARY KEY DEFAULT 1 CHECK (only_one = 1),
    step       INTEGER NOT NULL DEFAULT 0,
    ended_at   INTEGER NOT NULL DEFAULT 0,
    ended_link INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO event_steps DEFAULT VALUES;

-- With which step each history of the file began: a place in the feed is valid in the history that gave it. Each process begins a history,
-- as the file may have been restored before it.
CREATE TABLE event_histories (
    id    TEXT    PRIMARY KEY,
    began INTEGER NOT NULL
) STRICT;
CREATE INDEX event_histories_began ON event_histories (began);

-- The last place of each account whose event is not kept any more.
CREATE TABLE events_pruned (
    owner_id   INTEGER PRIMARY KEY,
    step       INTEGER NOT NULL,
    last_index INTEGER NOT NULL
) STRICT;

CREATE TRIGGER events_end AFTER DELETE ON users
BEGIN
    DELETE FROM event_queue WHERE owner_id = old.id;
    DELETE FROM events WHERE owner_id = old.id;
    DELETE FROM events_pruned WHERE owner_id = old.id;
END;

CREATE TRIGGER link_made_happened AFTER INSERT ON links WHEN new.alias_of IS NULL
BEGIN
    INSERT INTO event_queue (owner_id, link_id, type, at, short_code, target_url, title, tags, moved_to)
    SELECT new.owner_id, new.id, 'link.created', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER), new.short_code, new.target_url, new.title, new.tags, NULL;
END;
CREATE TRIGGER link_moved_happened AFTER UPDATE OF owner_id ON links WHEN new.alias_of IS NULL AND new.owner_id <> old.owner_id AND new.trashed_at = 0
BEGIN
    INSERT INTO event_queue (owner_id, link_id, type, at, short_code, target_url, title, tags, moved_to)
    SELECT old.owner_id, old.id, 'link.moved', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER), old.short_code, old.target_url, old.title, old.tags, new.owner_id;
END;
CREATE TRIGGER link_restored_happened AFTER UPDATE OF trashed_at, removed_status ON links
WHEN new.alias_of IS NULL AND new.trashed_at = 0 AND (old.trashed_at > 0 OR old.removed_status IS NOT NULL AND new.removed_status IS NULL)
BEGIN
    INSERT INTO event_queue (owner_id, link_id, type, at, short_code, target_url, title, tags, moved_to)
    SELECT new.owner_id, new.id, 'link.restored', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER), new.short_code, new.target_url, new.title, new.tags, NULL;
END;
CREATE TRIGGER link_removed_happened AFTER UPDATE OF removed_status ON links
WHEN new.alias_of IS NULL AND new.trashed_at = 0 AND old.trashed_at = 0 AND new.removed_status IS NOT NULL AND new.removed_status IS NOT old.removed_status
BEGIN
    INSERT INTO event_queue (owner_id, link_id, type, at, short_code, target_url, title, tags, moved_to)
    SELECT new.owner_id, new.id, 'link.removed', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER), new.short_code, new.target_url, new.title, new.tags, NULL;
END;
CREATE TRIGGER link_changed_happened AFTER UPDATE OF short_code, target_url, title, tags, forward_query, note, noindex, is_active, expires_at,
        max_clicks, starts_at, fallback_url, pool, password_hash, rules, aliases ON links
WHEN new.alias_of IS NULL AND new.trashed_at = 0 AND old.trashed_at = 0 AND new.removed_status IS old.removed_status
        AND (new.short_code IS NOT old.short_code OR new.target_url IS NOT old.target_url OR new.title IS NOT old.title OR new.tags IS NOT old.tags
            OR new.forward_query IS NOT old.forward_query OR new.note IS NOT old.note OR new.noindex IS NOT old.noindex OR new.is_active IS NOT old.is_active
            OR new.expires_at IS NOT old.expires_at OR new.max_clicks IS NOT old.max_clicks OR new.starts_at IS NOT old.starts_at OR new.fallback_url IS NOT old.fallback_url
            OR new.pool IS NOT old.pool OR new.password_hash IS NOT old.password_hash OR new.rules IS NOT old.rules OR new.aliases IS NOT old.aliases)
BEGIN
    INSERT INTO event_queue (owner_id, link_id, type, at, short_code, target_url, title, tags, moved_to)
    SELECT new.owner_id, new.id, 'link.changed', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER), new.short_code, new.target_url, new.title, new.tags, NULL;
END;
CREATE TRIGGER link_trashed_happened AFTER UPDATE OF trashed_at ON links WHEN new.alias_of IS NULL AND old.trashed_at = 0 AND new.trashed_at > 0
BEGIN
    INSERT INTO event_queue (owner_id, link_id, type, at, short_code, target_url, title, tags, moved_to)
    SELECT old.owner_id, old.id, 'link.deleted', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER), old.short_code, old.target_url, old.title, old.tags, NULL;
END;
-- The links of a deleted account end with its feed.
CREATE TRIGGER link_deleted_happened AFTER DELETE ON links WHEN old.alias_of IS NULL AND old.trashed_at = 0
BEGIN
    INSERT INTO event_queue (owner_id, link_id, type, at, short_code, target_url, title, tags, moved_to)
    SELECT old.owner_id, old.id, 'link.deleted', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER), old.short_code, old.target_url, old.title, old.tags, NULL
    WHERE NOT EXISTS (SELECT 1 FROM deleted_users WHERE user_id = old.owner_id);
END;
-- The last click of a link with a limit.
CREATE TRIGGER link_limit_reached AFTER UPDATE OF clicks_before, granted ON link_limits
BEGIN
    INSERT INTO event_queue (owner_id, link_id, type, at, short_code, target_url, title, tags, moved_to)
    SELECT links.owner_id, links.id, 'link.ended', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER), links.short_code, links.target_url, links.title, links.tags, NULL
    FROM links WHERE id = new.link_id AND trashed_at = 0 AND max_clicks <= new.clicks_before + new.granted
        AND max_clicks > coalesce(old.clicks_before, 0) + old.granted;
END;

-- # Hooks

-- Receivers of events. `types` and `tags` are JSON arrays; without tags, events of all links are sent. All that happened up to
-- `read_step` and `read_index` has its deliveries. An instance works a hook off while it has the lease.
CREATE TABLE hooks (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    owner_id         INTEGER  NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    url              TEXT    NOT NULL,
    types            TEXT    NOT NULL,
    tags             TEXT    NOT NULL,
    secret           BLOB   NOT NULL,
    -- The secret before, which signs, too, until then.
    old_secret       BLOB,
    old_secret_until INTEGER  NOT NULL DEFAULT 0,
    created_at       INTEGER  NOT NULL,
    is_active        INTEGER NOT NULL DEFAULT 1,
    read_step        INTEGER  NOT NULL,
    read_index       INTEGER  NOT NULL,
    -- Deliveries that are not done.
    waiting          INTEGER  NOT NULL DEFAULT 0,
    -- Rounds in a row in which no delivery was taken, the moment of the next one, and what the receiver answered last.
    failures         INTEGER  NOT NULL DEFAULT 0,
    failing_since    INTEGER,
    retry_at         INTEGER  NOT NULL DEFAULT 0,
    last_error       TEXT,
    lease_holder     TEXT    NOT NULL DEFAULT '',
    lease_until      INTEGER  NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX hooks_by_owner ON hooks (owner_id, id);

-- Events for the receiver of a hook. `next_at` is the moment of the next attempt; a delivery that is done, or waits for an earlier one of
-- its link, has none. Of what is done the body is not kept.
CREATE TABLE hook_deliveries (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    hook_id       INTEGER NOT NULL REFERENCES hooks (id) ON DELETE CASCADE,
    event_id      TEXT   NOT NULL,
    type          TEXT   NOT NULL,
    link          TEXT   NOT NULL,
    body          TEXT   NOT NULL,
    made_at       INTEGER NOT NULL,
    next_at       INTEGER,
    attempts      INTEGER NOT NULL DEFAULT 0,
    failing_since INTEGER,
    done_at       INTEGER,
    status        INTEGER,
    error         TEXT
) STRICT;
CREATE INDEX hook_deliveries_by_hook ON hook_deliveries (hook_id, id);
CREATE INDEX hook_deliveries_due ON hook_deliveries (hook_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX hook_deliveries_by_link ON hook_deliveries (hook_id, link, id) WHERE done_at IS NULL;
CREATE INDEX hook_deliveries_oldest ON hook_deliveries (made_at) WHERE next_at IS NOT NULL;
CREATE INDEX hook_deliveries_done ON hook_deliveries (done_at) WHERE done_at IS NOT NULL;

-- Links with so many waiting deliveries that their further events stay in the feed: those after `read_step` and `read_index` are put in
-- line when the receiver took the others.
CREATE TABLE hook_held_links (
    hook_id    INTEGER NOT NULL REFERENCES hooks (id) ON DELETE CASCADE,
    link       TEXT NOT NULL,
    read_step  INTEGER NOT NULL,
    read_index INTEGER NOT NULL,
    PRIMARY KEY (hook_id, link)
) STRICT, WITHOUT ROWID;

-- # Statements

-- Statements of months, as they were answered: a statement never changes once it is issued. A link has one for each month from the month
-- in which it was made, without a gap, in each zone that was asked for.
CREATE TABLE statements (
    link_id  INTEGER NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    -- The zone, by its name.
    tz       TEXT    NOT NULL,
    -- As 2026-10.
    month    TEXT    NOT NULL,
    document TEXT    NOT NULL,
    PRIMARY KEY (link_id, tz, month)
) STRICT;

-- The public keys of all statements, also of deleted links: they stay published.
CREATE TABLE statement_keys (
    public_key BLOB    PRIMARY KEY,
    -- When it signed the first one.
    since      INTEGER NOT NULL
) STRICT;
