-- What owners give their links besides a target. An instance of the version before makes links without it, and follows
-- links as if they had none: it has to be gone before the first link ends or has a limit.
ALTER TABLE links
    ADD COLUMN title         text    NOT NULL DEFAULT '',
    ADD COLUMN tags          text[]  NOT NULL DEFAULT '{}',
    -- NULL: since the link was made.
    ADD COLUMN updated_at    timestamptz,
    ADD COLUMN expires_at    timestamptz,
    -- Redirects answered in all.
    ADD COLUMN max_clicks    bigint,
    -- Whether a visitor's query is added to that of the target.
    ADD COLUMN forward_query boolean NOT NULL DEFAULT false;

-- Each change of what a redirect needs is announced, once a statement and link.
CREATE OR REPLACE TRIGGER links_changed
    AFTER UPDATE OF short_code, target_url, is_active, expires_at, max_clicks, forward_query OR DELETE ON links
    FOR EACH ROW EXECUTE FUNCTION link_changed();

-- The tags of links, in the order of an owner's list.
CREATE TABLE link_tags (
    link_id    bigint      NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    tag        text        NOT NULL,
    owner_id   bigint      NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (link_id, tag)
);
CREATE INDEX link_tags_newest_first ON link_tags (owner_id, tag, created_at DESC, link_id DESC);

CREATE FUNCTION link_tagged() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        DELETE FROM link_tags WHERE link_id = NEW.id AND tag <> ALL (NEW.tags);
    END IF;
    INSERT INTO link_tags (link_id, tag, owner_id, created_at)
    SELECT NEW.id, tag, NEW.owner_id, NEW.created_at FROM unnest(NEW.tags) AS tag ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;

CREATE TRIGGER links_made_with_tags AFTER INSERT ON links
    FOR EACH ROW WHEN (NEW.tags <> '{}') EXECUTE FUNCTION link_tagged();
CREATE TRIGGER links_tagged AFTER UPDATE OF tags ON links
    FOR EACH ROW WHEN (NEW.tags <> OLD.tags) EXECUTE FUNCTION link_tagged();

-- Whose a retired code was: its former owner may give it to a link again.
ALTER TABLE retired_codes ADD COLUMN owner_id bigint;

CREATE OR REPLACE FUNCTION link_changed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO link_changes (short_code) VALUES (OLD.short_code);
    IF TG_OP = 'DELETE' THEN
        INSERT INTO retired_codes (short_code, retired_at, owner_id) VALUES (OLD.short_code, now(), OLD.owner_id)
        ON CONFLICT (short_code) DO UPDATE SET retired_at = excluded.retired_at, owner_id = excluded.owner_id;
        INSERT INTO deleted_links (link_id) VALUES (OLD.id) ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END
$$;

-- The clicks of links with max_clicks. A row is there for each such link; the lock on it puts grants in order.
CREATE TABLE link_limits (
    link_id       bigint PRIMARY KEY REFERENCES links (id) ON DELETE CASCADE,
    -- Clicks from before the link had a limit; NULL until they are counted.
    clicks_before bigint,
    -- Clicks granted since.
    granted       bigint NOT NULL DEFAULT 0
)
WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- What was granted to each batch, for the instance that did not get the answer.
CREATE TABLE click_grants (
    recorder   bigint      NOT NULL,
    number     bigint      NOT NULL,
    link_ids   bigint[]    NOT NULL,
    clicks     bigint[]    NOT NULL,
    granted_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (recorder, number)
)
WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX click_grants_granted_at ON click_grants (granted_at);

-- Which link a request with an Idempotency-Key made, and a digest of what it asked for.
CREATE TABLE idempotency_keys (
    owner_id    bigint      NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    key         text        NOT NULL,
    fingerprint bytea       NOT NULL,
    link_id     bigint      NOT NULL,
    short_code  text        NOT NULL,
    used_at     timestamptz NOT NULL,
    PRIMARY KEY (owner_id, key)
);
CREATE INDEX idempotency_keys_used_at ON idempotency_keys (used_at);
