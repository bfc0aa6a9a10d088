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

-- How many clicks links with max_clicks were granted; the lock on a row puts the grants in order. A link that is made with a
-- limit gets its row with it, any other one when the clicks from before its limit are to be counted. No foreign key: a deletion
-- would wait for grants, and the deletions of several links in another order than grants go by. The rows of deleted links
-- are removed with their clicks.
CREATE TABLE link_limits (
    link_id       bigint PRIMARY KEY,
    -- Clicks from before the limit; NULL until they are counted.
    clicks_before bigint,
    -- The counting of them that was begun last; NULL where a click came that it may miss.
    counting      bigint,
    -- Clicks granted since.
    granted       bigint NOT NULL DEFAULT 0
)
WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- What was granted to each batch, for the instance that did not get the answer.
CREATE TABLE click_grants (
    recorder    bigint      NOT NULL,
    number      bigint      NOT NULL,
    link_ids    bigint[]    NOT NULL,
    clicks      bigint[]    NOT NULL,
    -- How many are left of each link: below 0 where the limit was lowered, NULL until the clicks before it are counted,
    -- the largest number where there is no limit any more.
    clicks_left bigint[]    NOT NULL,
    granted_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (recorder, number)
)
WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

CREATE FUNCTION link_made_with_limit() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO link_limits (link_id, clicks_before) VALUES (NEW.id, 0);
    RETURN NULL;
END
$$;

-- A limit that comes or goes: clicks from outside of its time are not granted, and have to be counted before it.
CREATE FUNCTION link_limit_came_or_went() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM link_limits WHERE link_id = NEW.id;
    RETURN NULL;
END
$$;

CREATE TRIGGER links_made_with_limit AFTER INSERT ON links
    FOR EACH ROW WHEN (NEW.max_clicks IS NOT NULL) EXECUTE FUNCTION link_made_with_limit();
CREATE TRIGGER links_limit_came_or_went AFTER UPDATE OF max_clicks ON links
    FOR EACH ROW WHEN ((OLD.max_clicks IS NULL) <> (NEW.max_clicks IS NULL)) EXECUTE FUNCTION link_limit_came_or_went();

-- Grants as many of the clicks that a batch asks for as are left, and counts them. A repetition waits for the original, and
-- gets the same answer.
CREATE FUNCTION grant_clicks(of_recorder bigint, with_number bigint, ids bigint[], counts bigint[])
RETURNS SETOF click_grants LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(of_recorder);
    IF NOT EXISTS (SELECT FROM click_grants WHERE recorder = of_recorder AND number >= with_number) THEN
        PERFORM FROM link_limits WHERE link_id = ANY (ids) ORDER BY link_id FOR UPDATE;
        -- A statement of its own: its snapshot is younger than the locks, and shows every grant before (READ COMMITTED).
        WITH asked AS (
            SELECT id, n,
                (SELECT coalesce(max_clicks, 9223372036854775807) FROM links WHERE links.id = pair.id) AS max_clicks,
                (SELECT clicks_before + granted FROM link_limits WHERE link_id = pair.id) AS granted_before,
                (SELECT clicks FROM link_clicks WHERE link_id = pair.id) AS counted_before
            FROM unnest(ids, counts) AS pair (id, n)
        ),
        states AS (
            SELECT id, n, CASE
                -- The link is deleted.
                WHEN max_clicks IS NULL THEN 0
                WHEN max_clicks = 9223372036854775807 THEN max_clicks
                WHEN granted_before IS NOT NULL THEN max_clicks - greatest(granted_before, counted_before)
            END AS clicks_left
            FROM asked
        ),
        answers AS (
            SELECT id, clicks_left,
                CASE WHEN clicks_left < 9223372036854775807 THEN greatest(least(n, clicks_left), 0) ELSE 0 END AS n
            FROM states
        ),
        noted AS (
            -- By key, however the answers are joined.
            UPDATE link_limits SET granted = granted + n FROM answers
            WHERE link_id = ANY (ids) AND link_id = id AND n > 0
        ),
        counted AS (
            INSERT INTO link_clicks (link_id, clicks) SELECT id, n FROM answers WHERE n > 0 ORDER BY id
            ON CONFLICT (link_id) DO UPDATE SET clicks = link_clicks.clicks + excluded.clicks
        )
        INSERT INTO click_grants (recorder, number, link_ids, clicks, clicks_left)
        SELECT of_recorder, with_number, array_agg(id ORDER BY id), array_agg(n ORDER BY id),
            array_agg(CASE WHEN clicks_left < 9223372036854775807 THEN clicks_left - n ELSE clicks_left END ORDER BY id)
        FROM answers;
    END IF;
    RETURN QUERY SELECT * FROM click_grants WHERE recorder = of_recorder AND number = with_number;
END
$$;

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
