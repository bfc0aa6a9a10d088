-- Keys for programs. The key itself is known to its owner alone; `hash` is the beginning of its SHA-256.
CREATE TABLE api_keys (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id      INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    hash         BLOB    NOT NULL,
    name         TEXT    NOT NULL,
    may_write    INTEGER NOT NULL CHECK (may_write IN (0, 1)),
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    -- As 2027-01-31.
    last_used_on TEXT,
    UNIQUE (user_id, hash)
) STRICT;

-- What a request may name an account by: the key in its tokens, or a key for programs. Each statement in the name of an account
-- looks here, so that what has ended is refused without a query more.
CREATE VIEW account_keys (user_id, key) AS
    SELECT id, token_key FROM users
    UNION ALL
    SELECT user_id, hash FROM api_keys WHERE expires_at IS NULL OR expires_at > unixepoch('subsec') * 1000000;
