-- What the service's administrators take away. A link may be covered by several removals, and is removed while one of them
-- covers it. To an instance of the version before a removed link is inactive: it does not follow the link, and its owner cannot
-- switch it on there.
CREATE TABLE removals (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- link, host, user, address, or blocklist: the service's own, of all that the list covers.
    kind          text        NOT NULL,
    value         text        NOT NULL,
    reason        text        NOT NULL,
    -- 410 or 451.
    status        integer     NOT NULL,
    -- The account whose work it was; NULL: an operator on the command line, or the service.
    removed_by    bigint,
    removed_at    timestamptz NOT NULL,
    taken_back_at timestamptz,
    -- Links are looked through from after this place on, to be removed or put back; NULL: none any more.
    looking_after bigint,
    -- When they are looked through once more, for those that were made meanwhile; NULL: that is not set yet.
    look_again_at timestamptz,
    -- Of the blocklist: which one it is.
    digest        text
);
CREATE INDEX removals_under_way ON removals (id) WHERE looking_after IS NOT NULL;
CREATE UNIQUE INDEX removals_in_force ON removals (kind, value) WHERE taken_back_at IS NULL;

-- Which links each removal covers.
CREATE TABLE link_removals (
    link_id    bigint  NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    removal_id bigint  NOT NULL REFERENCES removals (id),
    status     integer NOT NULL,
    PRIMARY KEY (link_id, removal_id)
);
CREATE INDEX link_removals_by_removal ON link_removals (removal_id, link_id);

ALTER TABLE links
    -- 410 or 451 while a removal covers the link: the largest of theirs.
    ADD COLUMN removed_status   integer,
    -- What is_active becomes again when no removal covers the link any more.
    ADD COLUMN active_unremoved boolean;

CREATE FUNCTION link_stays_removed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    NEW.active_unremoved := NEW.is_active;
    NEW.is_active := false;
    RETURN NEW;
END
$$;
CREATE TRIGGER links_stay_removed BEFORE UPDATE OF is_active ON links
    FOR EACH ROW WHEN (NEW.removed_status IS NOT NULL AND NEW.is_active) EXECUTE FUNCTION link_stays_removed();

CREATE OR REPLACE TRIGGER links_changed
    AFTER UPDATE OF short_code, target_url, is_active, expires_at, max_clicks, forward_query, removed_status OR DELETE ON links
    FOR EACH ROW EXECUTE FUNCTION link_changed();

-- The code of a removed link that its owner deletes has no owner any more.
CREATE OR REPLACE FUNCTION link_changed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO link_changes (short_code) VALUES (OLD.short_code);
    IF TG_OP = 'DELETE' THEN
        INSERT INTO retired_codes (short_code, retired_at, owner_id)
        VALUES (OLD.short_code, now(), CASE WHEN OLD.removed_status IS NULL THEN OLD.owner_id END)
        ON CONFLICT (short_code) DO UPDATE SET retired_at = excluded.retired_at, owner_id = excluded.owner_id;
        INSERT INTO deleted_links (link_id) VALUES (OLD.id) ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END
$$;

-- Accounts that administer the service.
CREATE TABLE user_roles (
    user_id    bigint PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    -- admin
    role       text        NOT NULL,
    granted_at timestamptz NOT NULL
);

-- What administrators did.
CREATE TABLE audit_log (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      timestamptz NOT NULL,
    -- NULL: an operator on the command line, or the service.
    user_id bigint,
    address text        NOT NULL,
    action  text        NOT NULL,
    subject text        NOT NULL,
    detail  text        NOT NULL
);
CREATE INDEX audit_log_by_time ON audit_log (at);
