-- Sessions of browsers. The cookie is known to the browser alone; `hash` is the beginning of its SHA-256. A session is good for
-- as long as its account has the key that it had when the session began.
CREATE TABLE web_sessions (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id    INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    token_key  BLOB    NOT NULL,
    hash       BLOB    NOT NULL UNIQUE,
    agent      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX web_sessions_by_user ON web_sessions (user_id);
CREATE INDEX web_sessions_by_end ON web_sessions (expires_at);
