-- Banned accounts. Their password is kept here meanwhile: in users none fits, so that no version logs them in.
CREATE TABLE banned_users (
    user_id       bigint PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    password_hash text   NOT NULL,
    removal_id    bigint NOT NULL REFERENCES removals (id)
);

-- The addresses that links were made from, for AUDIT_DAYS.
CREATE TABLE link_addresses (
    link_id  bigint PRIMARY KEY REFERENCES links (id) ON DELETE CASCADE,
    address  text        NOT NULL,
    noted_at timestamptz NOT NULL
);

-- Links that visitors reported.
CREATE TABLE reports (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    link_id     bigint      NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    reason      text        NOT NULL,
    address     text        NOT NULL,
    reported_at timestamptz NOT NULL
);
CREATE INDEX reports_by_link ON reports (link_id);
CREATE INDEX reports_by_time ON reports (reported_at);
