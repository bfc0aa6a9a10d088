CREATE TABLE users (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    email         text        NOT NULL,
    -- The address in lower case, made by the service: under this form it is unique.
    email_key     text        NOT NULL CONSTRAINT users_email_key_unique UNIQUE,
    password_hash text        NOT NULL,
    created_at    timestamptz NOT NULL
);

CREATE TABLE links (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    short_code text        NOT NULL CONSTRAINT links_short_code_unique UNIQUE,
    target_url text        NOT NULL,
    owner_id   bigint      NOT NULL CONSTRAINT links_owner_exists REFERENCES users (id) ON DELETE CASCADE,
    clicks     bigint      NOT NULL DEFAULT 0 CHECK (clicks >= 0),
    is_active  boolean     NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL
)
-- Room in every page, so that counting clicks touches no index.
WITH (fillfactor = 85);

CREATE INDEX links_newest_first ON links (owner_id, created_at DESC, id DESC);

-- Codes of deleted links: never handed out again.
CREATE TABLE retired_codes (
    short_code text PRIMARY KEY,
    retired_at timestamptz NOT NULL
);

-- Outbox: changes of links that instances may not have heard of.
CREATE TABLE link_changes (
    number     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    short_code text NOT NULL
);

-- The newest batch of every recorder that went into the journal.
CREATE TABLE click_recorders (
    recorder   bigint PRIMARY KEY,
    last_batch bigint      NOT NULL,
    seen_at    timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX click_recorders_seen_at ON click_recorders (seen_at);

-- Batches of clicks that are not in the links yet. Held ones may also be in Redis and do not count.
CREATE TABLE click_journal (
    recorder bigint   NOT NULL,
    number   bigint   NOT NULL,
    held     boolean  NOT NULL,
    link_ids bigint[] NOT NULL,
    clicks   bigint[] NOT NULL,
    PRIMARY KEY (recorder, number)
);

-- Flushes from Redis: how far each is in the links.
CREATE TABLE flush_ledger (
    epoch      text        NOT NULL,
    number     bigint      NOT NULL,
    up_to      bigint      NOT NULL,
    applied_at timestamptz NOT NULL,
    PRIMARY KEY (epoch, number)
);

CREATE INDEX flush_ledger_applied_at ON flush_ledger (applied_at);
