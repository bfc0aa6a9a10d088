-- Keys for programs. The key itself is known to its owner alone; `hash` is the beginning of its SHA-256.
CREATE TABLE api_keys (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id      bigint      NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    hash         bytea       NOT NULL,
    name         text        NOT NULL,
    may_write    boolean     NOT NULL,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz,
    last_used_on date,
    CONSTRAINT api_keys_unique UNIQUE (user_id, hash)
);

-- What a request may name an account by: the key in its tokens, or a key for programs. Each statement in the name of an account
-- looks here, so that what has ended is refused without a query more.
CREATE VIEW account_keys (user_id, key) AS
    SELECT id, token_key FROM users
    UNION ALL
    SELECT user_id, hash FROM api_keys WHERE expires_at IS NULL OR expires_at > now();
