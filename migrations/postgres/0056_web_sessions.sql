-- Sessions of browsers. The cookie is known to the browser alone; `hash` is the beginning of its SHA-256. A session is good for
-- as long as its account has the key that it had when the session began.
CREATE TABLE web_sessions (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id    bigint      NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    token_key  bytea       NOT NULL,
    hash       bytea       NOT NULL,
    agent      text        NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT web_sessions_hash_unique UNIQUE (hash)
);
CREATE INDEX web_sessions_by_user ON web_sessions (user_id);
CREATE INDEX web_sessions_by_end ON web_sessions (expires_at);
