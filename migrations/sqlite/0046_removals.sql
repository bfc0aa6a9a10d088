-- What the service's administrators take away. A link may be covered by several removals, and is removed while one of them
-- covers it. To the version before a removed link is inactive, and its owner cannot switch it on there.
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
    taken_back_at INTEGER,
    -- Links are looked through from after this place on, to be removed or put back; NULL: none any more.
    looking_after INTEGER,
    -- When they are looked through once more, for those that were made meanwhile; NULL: that is not set yet.
    look_again_at INTEGER,
    -- Of the blocklist: which one it is.
    digest        TEXT
) STRICT;
CREATE INDEX removals_under_way ON removals (id) WHERE looking_after IS NOT NULL;
CREATE UNIQUE INDEX removals_in_force ON removals (kind, value) WHERE taken_back_at IS NULL;

-- Which links each removal covers.
CREATE TABLE link_removals (
    link_id    INTEGER NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    removal_id INTEGER NOT NULL REFERENCES removals (id),
    status     INTEGER NOT NULL,
    PRIMARY KEY (link_id, removal_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX link_removals_by_removal ON link_removals (removal_id, link_id);

-- 410 or 451 while a removal covers the link: the largest of theirs.
ALTER TABLE links ADD COLUMN removed_status INTEGER;
-- What is_active becomes again when no removal covers the link any more.
ALTER TABLE links ADD COLUMN active_unremoved INTEGER;
CREATE INDEX removed_links ON links (owner_id, created_at DESC, id DESC) WHERE removed_status IS NOT NULL;

CREATE TRIGGER link_stays_removed AFTER UPDATE OF is_active ON links
WHEN new.removed_status IS NOT NULL AND new.is_active
BEGIN
    UPDATE links SET is_active = 0, active_unremoved = 1 WHERE id = new.id;
END;

-- Accounts that administer the service.
CREATE TABLE user_roles (
    user_id    INTEGER PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    -- admin
    role       TEXT    NOT NULL,
    granted_at INTEGER NOT NULL
) STRICT;

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
