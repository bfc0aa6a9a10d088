-- Banned accounts. Their password is kept here meanwhile: in users none fits, so that no version logs them in.
CREATE TABLE banned_users (
    user_id       INTEGER PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    password_hash TEXT    NOT NULL,
    removal_id    INTEGER NOT NULL REFERENCES removals (id)
) STRICT;

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
    reported_at INTEGER NOT NULL
) STRICT;
CREATE INDEX reports_by_link ON reports (link_id);
CREATE INDEX reports_by_time ON reports (reported_at);
