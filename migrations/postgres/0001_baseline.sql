-- The schema that 1.0 starts from. Later migrations stand beside this file and only add to it.
--
-- Moments are microseconds since 1970 (UTC), as in SQLite; the view readable_links shows them to people. Clicks belong to
-- intervals, which are quarters of an hour (UTC), numbered since 1970 began.

CREATE FUNCTION now_micros() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT (extract(epoch FROM now()) * 1000000)::bigint;
$$;

-- As SQLite has it, so that one statement serves both.
CREATE FUNCTION json_each(list text) RETURNS TABLE (value text) LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT json_array_elements_text(list::json);
$$;

-- As SQLite has it: up to 32 bytes that cannot be guessed.
CREATE FUNCTION randomblob(bytes integer) RETURNS bytea LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
    SELECT substring(sha256(uuid_send(gen_random_uuid())) FOR bytes);
$$;

-- # The database

-- Names this database among all, so that no instance takes the clicks of another database out of a Redis that both were given.
CREATE TABLE installation (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    id       text NOT NULL
);
INSERT INTO installation (id) VALUES (encode(randomblob(16), 'hex'));

-- One line of states of this database. A new history begins where the database may have gone back: a standby that lagged took
-- over, or a backup was restored. Then links that are cached may be gone, and ids that were given out would come again.
CREATE TABLE database_history (
    only_one          boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    id                text        NOT NULL,
    -- Where it was last checked, as `server_position()` tells it; empty before the first check.
    server            text        NOT NULL DEFAULT '',
    -- When that server was started. On a server that was started at another time no id is given out before a check.
    checked_on        timestamptz NOT NULL DEFAULT '-infinity',
    -- How many ids of links were left out because the database may have gone back. The others are of links that were made.
    link_ids_left_out bigint      NOT NULL DEFAULT 0
);
INSERT INTO database_history (id) VALUES (encode(randomblob(16), 'hex'));

-- Has a row only on a server that was checked since it was started, and in the database that was checked: a dump that is restored makes
-- another table, and a copy by template is another database. Statements that give ids out read it.
CREATE VIEW checked_server AS
    SELECT id, server FROM database_history, pg_database
    WHERE checked_on = pg_postmaster_start_time() AND datname = current_database()
        AND server LIKE '%/' || pg_database.oid::text || '/' || database_history.tableoid::text;

-- Where this database is: the system identifier and the timeline of its server, and what it is there. A server that does not say is told
-- apart from others by the time of its start.
CREATE FUNCTION server_position(OUT server text, OUT bytes bigint) LANGUAGE plpgsql AS $$
BEGIN
    SELECT '/' || pg_database.oid || '/' || database_history.tableoid INTO server
    FROM database_history, pg_database WHERE datname = current_database();
    BEGIN
        server := (pg_control_system()).system_identifier || '/' || left(pg_walfile_name(pg_current_wal_flush_lsn()), 8) || server;
        bytes := pg_current_wal_flush_lsn() - '0/0'::pg_lsn;
    EXCEPTION WHEN insufficient_privilege OR feature_not_supported OR undefined_function THEN
        server := 'started at ' || extract(epoch FROM pg_postmaster_start_time()) || server;
        bytes := 0;
    END;
END
$$;

-- # Accounts

CREATE TABLE users (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    email         text   NOT NULL,
    -- The address in lower case, made by the service: in this form it is unique.
    email_key     text   NOT NULL CONSTRAINT users_email_key_unique UNIQUE,
    password_hash text   NOT NULL,
    created_at    bigint NOT NULL,
    -- Names an account in its tokens beside the id: an id comes again if the database is restored from a backup, and the
    -- token of the account that had it must not be the next one's. Another key ends all tokens of an account:
    -- UPDATE users SET token_key = randomblob(16) WHERE id = …
    -- The service draws the keys of its own accounts; the default serves accounts that are made by hand.
    token_key     bytea  NOT NULL DEFAULT randomblob(16),
    -- The tag of the language that the account chose for its pages; empty: the browser's.
    language      text   NOT NULL DEFAULT '',
    -- A group is an account that nobody signs in to: it has a name, no password, and no real address. NULL: a person.
    group_name    text
);

-- The addresses that logged in to each account, as hashes: failed log-ins of strangers do not lock them out.
CREATE TABLE known_addresses (
    user_id   bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    address   bigint NOT NULL,
    last_used bigint NOT NULL,
    PRIMARY KEY (user_id, address)
);

-- Keys for programs. Only its owner knows the key itself; `hash` is the beginning of its SHA-256.
CREATE TABLE api_keys (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id      bigint  NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    hash         bytea   NOT NULL,
    name         text    NOT NULL,
    scope        text    NOT NULL CHECK (scope IN ('read', 'write', 'create')),
    created_at   bigint  NOT NULL,
    expires_at   bigint,
    -- As 2027-01-31.
    last_used_on text,
    -- Of a key of a group, the member who made it.
    made_by      bigint,
    CONSTRAINT api_keys_unique UNIQUE (user_id, hash)
);

-- Who acts for which group, and how far: a viewer reads, an editor changes links, an owner has the members, the keys and the name, too.
CREATE TABLE group_members (
    group_id  bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    user_id   bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role      text   NOT NULL CHECK (role IN ('viewer', 'editor', 'owner')),
    joined_at bigint NOT NULL,
    PRIMARY KEY (group_id, user_id)
);
CREATE INDEX group_members_by_user ON group_members (user_id);

-- Sessions of browsers. Only the browser knows the cookie; `hash` is the beginning of its SHA-256. A session is valid for as
-- long as its account has the key that it had when the session began.
CREATE TABLE web_sessions (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id    bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    token_key  bytea  NOT NULL,
    hash       bytea  NOT NULL,
    agent      text   NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    -- The session at the identity provider that began it, empty if the provider names none; NULL: a password began it.
    provider_session text,
    -- Whether a second factor began it, beside a password.
    has_second_factor boolean NOT NULL DEFAULT false,
    -- The group whose links its pages show; NULL: those of the account.
    group_id   bigint REFERENCES users (id) ON DELETE SET NULL,
    CONSTRAINT web_sessions_hash_unique UNIQUE (hash)
);
CREATE INDEX web_sessions_by_user ON web_sessions (user_id);
CREATE INDEX web_sessions_by_group ON web_sessions (group_id) WHERE group_id IS NOT NULL;
CREATE INDEX web_sessions_by_end ON web_sessions (expires_at);
CREATE INDEX web_sessions_by_provider ON web_sessions (provider_session) WHERE provider_session IS NOT NULL;

-- Who signs in by an identity provider: the provider's own name of the person, which never changes.
CREATE TABLE identities (
    issuer    text   NOT NULL,
    subject   text   NOT NULL,
    user_id   bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    joined_at bigint NOT NULL,
    PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_by_user ON identities (user_id);

-- Second factors: apps that show codes by time (RFC 6238). Codes up to `last_step`, which is a number of thirty seconds since 1970,
-- were used, and are good no more. `secret` is as the app has it: who reads it can make codes, though no password.
CREATE TABLE totp_factors (
    user_id   bigint PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    secret    bytea  NOT NULL,
    last_step bigint NOT NULL,
    added_at  bigint NOT NULL
);

-- Codes that stand for a lost app, each once. `hash` is the beginning of the SHA-256.
CREATE TABLE recovery_codes (
    user_id bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    hash    bytea  NOT NULL,
    PRIMARY KEY (user_id, hash)
);

-- Passkeys: keys in a device or a password manager, which sign in to the pages without a password. `credential` is the public key,
-- and what else webauthn-rs keeps of it. `used_at` is when the challenge of the last sign-in was made; older ones are good no more.
CREATE TABLE passkeys (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id       bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    credential_id bytea  NOT NULL,
    credential    text   NOT NULL,
    name          text   NOT NULL,
    added_at      bigint NOT NULL,
    used_at       bigint,
    CONSTRAINT passkeys_credential_unique UNIQUE (credential_id)
);
CREATE INDEX passkeys_by_user ON passkeys (user_id);

-- Links that are mailed to owners of accounts, one an account and purpose: 'password' lets its owner choose another password, and
-- 'email' confirms `new_email`. `hash` is the beginning of the SHA-256 of the link's secret. A link works for as long as its account
-- has the key that it had when the link was made.
CREATE TABLE mailed_links (
    user_id    bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    purpose    text   NOT NULL CHECK (purpose IN ('password', 'email')),
    token_key  bytea  NOT NULL,
    hash       bytea  NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    new_email  text,
    PRIMARY KEY (user_id, purpose),
    CONSTRAINT mailed_links_hash_unique UNIQUE (hash),
    CONSTRAINT mailed_links_have_an_address CHECK ((purpose = 'email') = (new_email IS NOT NULL))
);
CREATE INDEX mailed_links_by_end ON mailed_links (expires_at);

-- Accounts that were deleted and whose links are not all removed yet. Their links are unknown from the start; a background job
-- removes them in batches, and at the end the account's row, which keeps nothing but its id.
CREATE TABLE deleted_users (
    user_id    bigint PRIMARY KEY,
    deleted_at bigint NOT NULL
);

-- # Links

-- Each alias of a link has a row of its own here, so that one constraint keeps all codes apart, and clicks are counted by code. Such a row
-- has a code, an id and the link, without an owner: no list and no sum of an owner has it. Triggers keep these rows as `aliases` says.
--
-- Codes of another host than that of BASE_URL are kept here and everywhere as the number of the domain, a slash and the code: `7/spring`.
-- So one column is the pair of domain and code, and keeps the codes of hosts apart.
CREATE TABLE links (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    short_code     text    NOT NULL CONSTRAINT links_short_code_unique UNIQUE,
    -- 0: the host of BASE_URL.
    domain         integer NOT NULL GENERATED ALWAYS AS (
        CASE WHEN strpos(short_code, '/') > 0 THEN split_part(short_code, '/', 1)::integer ELSE 0 END) STORED,
    target_url     text    NOT NULL,
    owner_id       bigint  CONSTRAINT links_owner_exists REFERENCES users (id) ON DELETE CASCADE,
    title          text    NOT NULL DEFAULT '',
    -- A JSON array of texts.
    tags           text    NOT NULL DEFAULT '[]',
    -- Whether a visitor's query is added to that of the target.
    forward_query  boolean NOT NULL DEFAULT false,
    -- The private note of its owner.
    note           text    NOT NULL DEFAULT '',
    -- Whether search engines are asked not to list the link.
    noindex        boolean NOT NULL DEFAULT false,
    is_active      boolean NOT NULL DEFAULT true,
    created_at     bigint  NOT NULL,
    -- NULL: since the link was made.
    updated_at     bigint,
    expires_at     bigint,
    -- How many redirects are answered in all; NULL: no limit.
    max_clicks     bigint,
    -- 410 or 451 while a removal covers the link: the largest of theirs.
    removed_status bigint,
    starts_at      bigint,
    -- Where visitors are sent before the start, after the end, and once the clicks are used up.
    fallback_url   text,
    -- The pool of targets that stands in the place of the target.
    pool           bigint,
    -- Of the password that visitors need: Argon2id, or bcrypt of an import.
    password_hash  text,
    -- The rules of the link, as JSON; NULL if it has no rules.
    rules          text,
    -- More codes of the link: a JSON array of texts.
    aliases        text    NOT NULL DEFAULT '[]',
    -- Of an alias, its link.
    alias_of       bigint  CONSTRAINT links_alias_of_link REFERENCES links (id),
    -- When its owner put the link into the bin, from which it may come back; 0: it is not there.
    trashed_at     bigint  NOT NULL DEFAULT 0,
    -- The account that made the link, if the link was moved to another one. Its clicks stay in the sums of that account for ever, so
    -- that a move changes no sum: readers of the sums of either account put them right.
    made_by        bigint,
    CONSTRAINT links_start_before_end CHECK (starts_at < expires_at),
    CONSTRAINT links_owner_or_link CHECK ((owner_id IS NULL) = (alias_of IS NOT NULL))
);
CREATE INDEX links_by_link ON links (alias_of) WHERE alias_of IS NOT NULL;
CREATE INDEX links_moved_from ON links (made_by) WHERE made_by IS NOT NULL;
CREATE INDEX links_moved_to ON links (owner_id) WHERE made_by IS NOT NULL;

-- Links of accounts that are there, and that are not in a bin; the others are unknown already, and wait for their removal. A migration that adds a
-- column to the links replaces this view, which has the columns of the moment at which it was made.
CREATE VIEW live_links AS
    SELECT * FROM links
    WHERE alias_of IS NULL AND trashed_at = 0 AND NOT EXISTS (SELECT 1 FROM deleted_users WHERE user_id = links.owner_id);

-- Which link has each code, and of an alias its own id.
CREATE VIEW link_codes AS
    SELECT short_code AS code, coalesce(alias_of, id) AS link_id, CASE WHEN alias_of IS NOT NULL THEN id END AS alias_id FROM links;

-- For people who look at rows by hand. The service does not read it. It leaves out the notes of owners and the hashes of passwords.
CREATE VIEW readable_links AS
    SELECT links.id, short_code, target_url, coalesce(group_name, email) AS owner, title, tags, is_active,
        to_timestamp(links.created_at / 1000000.0) AS created_at, to_timestamp(updated_at / 1000000.0) AS updated_at,
        to_timestamp(expires_at / 1000000.0) AS expires_at, max_clicks, forward_query, noindex, removed_status,
        to_timestamp(starts_at / 1000000.0) AS starts_at, fallback_url, rules, aliases,
        links.password_hash IS NOT NULL AS has_password, to_timestamp(nullif(trashed_at, 0) / 1000000.0) AS trashed_at
    FROM links JOIN users ON users.id = owner_id;

-- The orders of an owner's list: of all links, of the rarer statuses, and of links that end. The first one has the order of its bin, too.
CREATE INDEX links_newest_first ON links (owner_id, trashed_at, created_at DESC, id DESC);
CREATE INDEX inactive_links ON links (owner_id, trashed_at, created_at DESC, id DESC) WHERE NOT is_active;
CREATE INDEX scheduled_links ON links (owner_id, trashed_at, created_at DESC, id DESC) WHERE starts_at IS NOT NULL;
CREATE INDEX ending_links ON links (owner_id, trashed_at, created_at DESC, id DESC) WHERE expires_at IS NOT NULL;
CREATE INDEX limited_links ON links (owner_id, trashed_at, created_at DESC, id DESC) WHERE max_clicks IS NOT NULL;
CREATE INDEX removed_links ON links (owner_id, trashed_at, created_at DESC, id DESC) WHERE removed_status IS NOT NULL;
CREATE INDEX links_that_may_end ON links (owner_id, trashed_at, created_at DESC, id DESC)
    WHERE expires_at IS NOT NULL OR max_clicks IS NOT NULL OR removed_status IS NOT NULL;
CREATE INDEX links_by_end ON links (owner_id, trashed_at, expires_at, id) WHERE expires_at IS NOT NULL;
CREATE INDEX links_by_expiry ON links (expires_at, id) WHERE expires_at IS NOT NULL;
CREATE INDEX links_by_domain ON links (domain, owner_id, trashed_at, created_at DESC, id DESC) WHERE domain > 0;
CREATE INDEX links_in_bins ON links (trashed_at) WHERE trashed_at > 0;

-- The tags of links, in the order of an owner's list. Tags themselves are listed by their bytes.
CREATE TABLE link_tags (
    link_id    bigint NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    tag        text   NOT NULL COLLATE "C",
    owner_id   bigint NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (link_id, tag)
);
CREATE INDEX link_tags_newest_first ON link_tags (owner_id, tag, created_at DESC, link_id DESC);

CREATE FUNCTION link_tagged() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        DELETE FROM link_tags WHERE link_id = NEW.id AND tag NOT IN (SELECT value FROM json_each(NEW.tags));
    END IF;
    INSERT INTO link_tags (link_id, tag, owner_id, created_at)
    SELECT NEW.id, value, NEW.owner_id, NEW.created_at FROM json_each(NEW.tags) ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
CREATE TRIGGER links_made_with_tags AFTER INSERT ON links
    FOR EACH ROW WHEN (NEW.tags <> '[]') EXECUTE FUNCTION link_tagged();
CREATE TRIGGER links_tagged AFTER UPDATE OF tags ON links
    FOR EACH ROW WHEN (NEW.tags <> OLD.tags AND NEW.trashed_at = 0) EXECUTE FUNCTION link_tagged();

-- Codes of deleted links. The generator never draws them again, and only their former owner may give them to a link again.
CREATE TABLE retired_codes (
    short_code text PRIMARY KEY,
    retired_at bigint NOT NULL,
    owner_id   bigint
);

-- Shares of statistics: who has the secret of one may read the statistics of its link. `hash` is the beginning of its SHA-256.
CREATE TABLE stats_shares (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    link_id    bigint NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    hash       bytea  NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT stats_shares_hash_unique UNIQUE (hash)
);
CREATE INDEX stats_shares_by_link ON stats_shares (link_id);

-- The outbox: changes of links that instances may not know of yet. Instances without Redis read the changes here, so a
-- published change stays for a while. Changes are committed in another order than they are numbered: a reader asks for those
-- of transactions that its last snapshot did not show.
CREATE TABLE link_changes (
    number       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    short_code   text   NOT NULL,
    -- Of an alias, the code of its link: clicks are counted in the shard of that code.
    link_code    text,
    changed_in   bigint NOT NULL DEFAULT txid_current(),
    changed_at   bigint NOT NULL DEFAULT now_micros(),
    -- When an instance published it in Redis.
    published_at bigint
);
-- Whoever deletes a link takes its change out again once it is published, however many others are still unpublished.
CREATE INDEX link_changes_short_code ON link_changes (short_code, number);
CREATE INDEX link_changes_changed_in ON link_changes (changed_in);
CREATE INDEX link_changes_unpublished ON link_changes (number) WHERE published_at IS NULL;
CREATE VIEW unpublished_changes AS SELECT number, short_code, link_code FROM link_changes WHERE published_at IS NULL;

-- Deleted links that may have clicks in link_clicks. A background job removes those by rising id, in small batches that wait
-- for no writer: what another one has locked is passed over, so each link is looked at again a minute after it was looked at first.
CREATE TABLE deleted_links (
    link_id    bigint PRIMARY KEY,
    rescan_at bigint
);

-- Whoever changes or deletes a link, also by hand, tells every instance through the outbox. The code of a deleted link is
-- retired, whoever deleted the link or its owner; that of a removed link has no owner any more. The row in link_clicks is left
-- for a while: merges see in it that the link is deleted.
CREATE FUNCTION link_changed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    link links := OLD;
BEGIN
    -- An alias goes before its link.
    IF OLD.alias_of IS NOT NULL THEN
        SELECT * INTO link FROM links WHERE id = OLD.alias_of;
    END IF;
    -- The links of a deleted account were announced with it, and a link in a bin when it was put there.
    IF TG_OP = 'UPDATE' OR link.trashed_at = 0 AND NOT EXISTS (SELECT FROM deleted_users WHERE user_id = link.owner_id) THEN
        INSERT INTO link_changes (short_code, link_code) VALUES (OLD.short_code, nullif(link.short_code, OLD.short_code));
        INSERT INTO link_changes (short_code, link_code)
        SELECT short_code, OLD.short_code FROM links WHERE OLD.aliases <> '[]' AND alias_of = OLD.id;
    END IF;
    IF TG_OP = 'DELETE' THEN
        INSERT INTO retired_codes (short_code, retired_at, owner_id)
        VALUES (OLD.short_code, now_micros(), CASE WHEN link.removed_status IS NULL THEN link.owner_id END)
        ON CONFLICT (short_code) DO UPDATE SET retired_at = excluded.retired_at, owner_id = excluded.owner_id;
        INSERT INTO deleted_links (link_id) VALUES (OLD.id) ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER links_changed
    AFTER UPDATE OF short_code, target_url, is_active, expires_at, max_clicks, forward_query, noindex, removed_status,
        starts_at, fallback_url, pool, password_hash, rules, trashed_at OR DELETE ON links
    FOR EACH ROW EXECUTE FUNCTION link_changed();

-- The rows of aliases. A code that is in use, or retired by another owner, gets no row: the transaction that sets the list checks this afterwards.
CREATE FUNCTION link_aliased() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM links WHERE alias_of = NEW.id AND short_code NOT IN (SELECT value FROM json_each(NEW.aliases));
    WITH made AS (
        INSERT INTO links (short_code, alias_of, target_url, created_at)
        SELECT value, NEW.id, '', NEW.created_at FROM json_each(NEW.aliases)
        WHERE EXISTS (SELECT FROM checked_server)
            AND (SELECT true FROM retired_codes WHERE short_code = value AND owner_id IS DISTINCT FROM NEW.owner_id) IS NULL
        ORDER BY value ON CONFLICT (short_code) DO NOTHING RETURNING short_code
    )
    INSERT INTO link_changes (short_code, link_code) SELECT short_code, NEW.short_code FROM made;
    RETURN NULL;
END
$$;
CREATE TRIGGER links_made_with_aliases AFTER INSERT ON links
    FOR EACH ROW WHEN (NEW.aliases <> '[]') EXECUTE FUNCTION link_aliased();
CREATE TRIGGER links_aliased AFTER UPDATE OF aliases ON links
    FOR EACH ROW WHEN (NEW.aliases <> OLD.aliases) EXECUTE FUNCTION link_aliased();

-- # Hosts

-- Hosts beside that of BASE_URL, each with codes of its own. A number never comes again.
CREATE TABLE domains (
    id                          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- As it was given, with its port.
    host                        text    NOT NULL,
    -- In lower case, without a port: as requests name it.
    name                        text    NOT NULL CONSTRAINT domains_name_unique UNIQUE,
    root_url                    text,
    not_found_url               text,
    assetlinks                  text,
    apple_app_site_association  text,
    -- Whether every account may make links there; otherwise only the accounts in domain_owners may.
    for_all                     boolean NOT NULL DEFAULT false,
    created_at                  bigint  NOT NULL
);

CREATE TABLE domain_owners (
    domain_id bigint NOT NULL REFERENCES domains (id) ON DELETE CASCADE,
    user_id   bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    PRIMARY KEY (domain_id, user_id)
);
CREATE INDEX domain_owners_by_user ON domain_owners (user_id);

-- Every instance learns of a change through the outbox, as of a change of links: the code is empty.
CREATE FUNCTION domain_changed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO link_changes (short_code) VALUES (coalesce(NEW.id, OLD.id) || '/');
    RETURN NULL;
END
$$;
CREATE TRIGGER domain_changed AFTER INSERT OR UPDATE OR DELETE ON domains FOR EACH ROW EXECUTE FUNCTION domain_changed();

-- No link is made on a host that is removed at the same moment.
CREATE FUNCTION link_of_domain() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM FROM domains WHERE id = NEW.domain FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no domain %', NEW.domain;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER link_of_domain AFTER INSERT ON links
    FOR EACH ROW WHEN (NEW.domain > 0) EXECUTE FUNCTION link_of_domain();

-- How many links and aliases each account has, so that a quota needs no count. Triggers keep it, also for statements by hand.
CREATE TABLE link_totals (
    owner_id bigint PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    links    bigint NOT NULL,
    aliases  bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE FUNCTION link_totals_begin() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO link_totals (owner_id, links) VALUES (NEW.id, 0);
    RETURN NULL;
END
$$;

-- Adds rows of `links` to the totals of their owners, or takes them from these. The totals are locked in order, so that two statements
-- for several owners do not wait for each other.
CREATE FUNCTION link_totals_change() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    sign bigint := CASE WHEN TG_OP = 'INSERT' THEN 1 ELSE -1 END;
BEGIN
    PERFORM FROM link_totals WHERE owner_id IN (SELECT owner_id FROM changed) ORDER BY owner_id FOR UPDATE;
    UPDATE link_totals SET links = links + sign * (
        SELECT count(*) FROM changed WHERE changed.owner_id = link_totals.owner_id AND trashed_at = 0)
    WHERE owner_id IN (SELECT owner_id FROM changed);
    IF EXISTS (SELECT FROM changed WHERE alias_of IS NOT NULL) THEN
        PERFORM FROM link_totals WHERE owner_id IN (SELECT links.owner_id FROM changed JOIN links ON links.id = changed.alias_of)
        ORDER BY owner_id FOR UPDATE;
        UPDATE link_totals SET aliases = aliases + sign * number
        FROM (
            SELECT links.owner_id, count(*) AS number FROM changed JOIN links ON links.id = changed.alias_of
            WHERE links.trashed_at = 0 GROUP BY 1) AS sums
        WHERE sums.owner_id = link_totals.owner_id;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER link_totals_begin AFTER INSERT ON users FOR EACH ROW EXECUTE FUNCTION link_totals_begin();
CREATE TRIGGER link_totals_add AFTER INSERT ON links REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION link_totals_change();
CREATE TRIGGER link_totals_subtract AFTER DELETE ON links REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION link_totals_change();

-- A link that goes into the bin leaves its tags and the number of its owner's links. Its codes are retired as the codes of a deleted link
-- are, and stay so when it comes back.
CREATE FUNCTION link_trashed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    sign bigint := CASE WHEN NEW.trashed_at = 0 THEN 1 ELSE -1 END;
BEGIN
    UPDATE link_totals SET links = links + sign, aliases = aliases + sign * (SELECT count(*) FROM json_each(NEW.aliases))
    WHERE owner_id = NEW.owner_id;
    IF NEW.trashed_at = 0 THEN
        INSERT INTO link_tags (link_id, tag, owner_id, created_at)
        SELECT NEW.id, value, NEW.owner_id, NEW.created_at FROM json_each(NEW.tags) ON CONFLICT DO NOTHING;
        RETURN NULL;
    END IF;
    DELETE FROM link_tags WHERE link_id = NEW.id;
    INSERT INTO retired_codes (short_code, retired_at, owner_id)
    SELECT value, NEW.trashed_at, CASE WHEN NEW.removed_status IS NULL THEN NEW.owner_id END
    FROM (SELECT NEW.short_code AS value UNION ALL SELECT value FROM json_each(NEW.aliases)) AS codes
    ON CONFLICT (short_code) DO UPDATE SET retired_at = excluded.retired_at, owner_id = excluded.owner_id;
    RETURN NULL;
END
$$;
CREATE TRIGGER link_trashed AFTER UPDATE OF trashed_at ON links
    FOR EACH ROW WHEN ((OLD.trashed_at = 0) <> (NEW.trashed_at = 0)) EXECUTE FUNCTION link_trashed();

-- A link that is moved takes its tags along, and its codes leave the total of one account for that of the other.
CREATE FUNCTION link_moves() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    NEW.made_by := nullif(coalesce(OLD.made_by, OLD.owner_id), NEW.owner_id);
    RETURN NEW;
END
$$;
CREATE TRIGGER link_moves BEFORE UPDATE OF owner_id ON links
    FOR EACH ROW WHEN (OLD.owner_id <> NEW.owner_id) EXECUTE FUNCTION link_moves();
CREATE FUNCTION link_moved() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE link_tags SET owner_id = NEW.owner_id WHERE link_id = NEW.id;
    UPDATE link_totals SET links = links + sign, aliases = aliases + sign * (SELECT count(*) FROM json_each(NEW.aliases))
    FROM (VALUES (OLD.owner_id, -1), (NEW.owner_id, 1)) AS moved (whose, sign) WHERE owner_id = whose;
    RETURN NULL;
END
$$;
CREATE TRIGGER link_moved AFTER UPDATE OF owner_id ON links
    FOR EACH ROW WHEN (OLD.owner_id <> NEW.owner_id AND NEW.trashed_at = 0) EXECUTE FUNCTION link_moved();

-- Which link a request with an Idempotency-Key made, and a digest of what it asked for.
CREATE TABLE idempotency_keys (
    owner_id    bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    key         text   NOT NULL,
    fingerprint bytea  NOT NULL,
    link_id     bigint NOT NULL,
    short_code  text   NOT NULL,
    used_at     bigint NOT NULL,
    PRIMARY KEY (owner_id, key)
);
CREATE INDEX idempotency_keys_used_at ON idempotency_keys (used_at);

-- Lifts the ids that are given out next above all that may have been given out. With the rights of the owner: an ordinary
-- role may use the sequences of identity columns, but not set them.
CREATE FUNCTION lift_ids(link bigint, account bigint, gap bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
    UPDATE database_history SET link_ids_left_out =
        link_ids_left_out + greatest(link - (SELECT last_value FROM links_id_seq), 0) + gap;
    SELECT setval('links_id_seq', greatest(link, (SELECT last_value FROM links_id_seq)) + gap),
           setval('users_id_seq', greatest(account, (SELECT last_value FROM users_id_seq)) + gap),
           setval('link_changes_number_seq', (SELECT last_value FROM link_changes_number_seq) + gap);
$$;

-- # Counts

-- Sums that no click makes (a Redis that sends nonsense, an import) must not stop the writers of all others.
CREATE FUNCTION as_count(sum numeric) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT greatest(least(sum, 9223372036854775807), -9223372036854775807)::bigint;
$$;

-- The clicks of an interval in one number, so that a list of them takes 8 bytes each: the interval, the place of a digit in
-- base 2^31, and the digit. Only what has more than 2^31 clicks takes several.
CREATE FUNCTION points_of(of_interval integer, clicks bigint) RETURNS bigint[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN clicks < 2147483648 THEN ARRAY[of_interval::bigint << 33 | clicks]
        ELSE ARRAY[of_interval::bigint << 33 | (clicks & 2147483647), of_interval::bigint << 33 | 2147483648 | (clicks >> 31 & 2147483647),
            of_interval::bigint << 33 | 4294967296 | (clicks >> 62)] END;
$$;
CREATE FUNCTION interval_of(point bigint) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (point >> 33)::integer;
$$;
CREATE FUNCTION clicks_of(point bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (point & 2147483647) << (31 * (point >> 31 & 3)::integer);
$$;

-- Clicks have a narrow table of their own. Adding some copies 60 to 200 bytes instead of a whole link with its
-- target, and with more than half of every page left free it nearly always stays in its page and touches no index.
-- A link that was never clicked has no row. No foreign key: checking it would lock the link at every first
-- click; ids of links are never used again, so a row left behind by a deletion counts for no account.
CREATE TABLE link_clicks (
    link_id     bigint PRIMARY KEY,
    -- The newest interval, and the clicks in it. A count with which a link was made belongs to the interval in which the
    -- link was made.
    in_interval bigint  NOT NULL,
    clicks      bigint  NOT NULL CHECK (clicks >= 0),
    interval    integer NOT NULL,
    -- Set by the deletion of the link, under the lock on this row: clicks that come later are dropped.
    is_deleted  boolean NOT NULL DEFAULT false,
    -- Older intervals as points, the newest first. Sixteen or more are a row of link_series, too; the next clicks replace them.
    -- The log has of an update what differs between the row's beginning and its end. So the columns that change most stand
    -- together, and a new point stands before the older points.
    past        bigint[]
)
-- Counts are updated in their pages, which are cleaned as they are read. What is left grows with the table; a fifth of
-- millions of rows, the default, would be many pages more to cache.
WITH (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);

-- The points that no row of link_series has.
CREATE FUNCTION unmoved_points(past bigint[]) RETURNS bigint[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN cardinality(past) < 16 THEN past END;
$$;

-- Points with clicks of one of their intervals, or of another interval.
CREATE FUNCTION with_late_clicks(points bigint[], of_interval integer, late bigint) RETURNS bigint[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT array_agg(point ORDER BY point DESC) FROM (
        SELECT point FROM unnest(points) AS point WHERE interval_of(point) <> of_interval
        UNION ALL
        SELECT unnest(points_of(of_interval, (
            SELECT as_count(late + coalesce(sum(clicks_of(point)), 0)) FROM unnest(points) AS point WHERE interval_of(point) = of_interval)))
    ) AS list (point);
$$;

-- Points of a link's older intervals, also the newest first, and the newest interval of them.
CREATE TABLE link_series (
    link_id bigint   NOT NULL,
    newest  integer  NOT NULL,
    points  bigint[] NOT NULL
)
WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
CREATE INDEX link_series_newest ON link_series (link_id, newest);

-- The clicks of a link by interval, without those in parts; an interval may come several times.
CREATE FUNCTION merged_points(of_link bigint, begin_at integer) RETURNS TABLE (at integer, clicks bigint)
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT interval_of(point), clicks_of(point) FROM link_series, unnest(points) AS point WHERE link_id = of_link AND newest >= begin_at
    UNION ALL
    SELECT interval_of(point), clicks_of(point) FROM link_clicks, unnest(unmoved_points(past)) AS point WHERE link_id = of_link
    UNION ALL
    SELECT interval, in_interval FROM link_clicks WHERE link_id = of_link;
$$;

-- Adds clicks of one interval to links and to the sums of their owners. Aliases have the owner 0, and their clicks are in no such sum. The links are in rising order, each once, so
-- that writers hardly ever deadlock: first the links that have a row, then the others. Clicks of deleted links are dropped. Returns the number of links that were added to.
-- The settings leave one plan, also for a table that has grown since: a look-up of each row, in rising order.
CREATE FUNCTION add_clicks(ids bigint[], counts bigint[], owners bigint[], of_interval integer) RETURNS bigint
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_nestloop = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    added   bigint[];
    missing bigint[];
    made    bigint[];
    gone    bigint[];
    again   bigint[];
BEGIN
    WITH sums AS MATERIALIZED (
        SELECT id, n, owner FROM unnest(ids, counts, owners) AS triple (id, n, owner)
    ),
    updated AS (
        UPDATE link_clicks AS counted SET
            clicks = counted.clicks + least(n, 9223372036854775807 - counted.clicks),
            interval = greatest(counted.interval, of_interval),
            in_interval = CASE
                WHEN of_interval = counted.interval THEN counted.in_interval + least(n, 9223372036854775807 - counted.in_interval)
                WHEN of_interval > counted.interval THEN n
                ELSE counted.in_interval
            END,
            past = CASE
                WHEN of_interval < counted.interval THEN with_late_clicks(unmoved_points(counted.past), of_interval, n)
                WHEN of_interval > counted.interval AND counted.in_interval > 0
                    THEN points_of(counted.interval, counted.in_interval) || unmoved_points(counted.past)
                ELSE unmoved_points(counted.past)
            END
        FROM sums WHERE counted.link_id = ANY (ids) AND counted.link_id = id AND NOT counted.is_deleted
        RETURNING link_id, owner, n, CASE WHEN cardinality(past) >= 16 THEN past END AS points
    ),
    moved AS (
        INSERT INTO link_series (link_id, newest, points)
        SELECT link_id, interval_of(points[1]), points FROM updated WHERE points IS NOT NULL
    ),
    logged AS (
        INSERT INTO owner_series_log (owner_id, interval, clicks)
        SELECT owner, of_interval, as_count(sum(n)) FROM updated WHERE owner <> 0 GROUP BY owner
    )
    SELECT array_agg(link_id) INTO added FROM updated;
    IF cardinality(ids) = coalesce(cardinality(added), 0) THEN
        RETURN cardinality(ids);
    END IF;
    missing := ARRAY(SELECT unnest(ids) EXCEPT SELECT unnest(added) ORDER BY 1);
    WITH begun AS (
        INSERT INTO link_clicks (link_id, clicks, interval, in_interval)
        SELECT id, n, of_interval, n FROM unnest(ids, counts) AS pair (id, n) WHERE id IN (SELECT unnest(missing)) ORDER BY id
        ON CONFLICT (link_id) DO NOTHING RETURNING link_id
    )
    SELECT array_agg(link_id) INTO made FROM begun;
    -- Statements of their own: their snapshots are younger than the locks on the new rows, for which a deletion of a link
    -- waits, too. So a link is either seen here, and its deletion sees these clicks, or is deleted, and has no part in the sums.
    gone := ARRAY(SELECT new_row.id FROM unnest(made) AS new_row (id) WHERE (SELECT true FROM links WHERE links.id = new_row.id) IS NULL);
    IF cardinality(gone) > 0 THEN
        DELETE FROM link_clicks WHERE link_id = ANY (gone);
        made := ARRAY(SELECT unnest(made) EXCEPT SELECT unnest(gone));
    END IF;
    INSERT INTO owner_series_log (owner_id, interval, clicks)
    SELECT owner, of_interval, as_count(sum(n)) FROM unnest(ids, counts, owners) AS triple (id, n, owner) WHERE id IN (SELECT unnest(made)) AND owner <> 0 GROUP BY owner;
    -- Rows that another writer made meanwhile, without rows of deleted links.
    again := ARRAY(
        SELECT link_id FROM link_clicks
        WHERE link_id = ANY (ARRAY(SELECT unnest(missing) EXCEPT SELECT unnest(made) EXCEPT SELECT unnest(gone))) AND NOT is_deleted);
    IF cardinality(again) > 0 THEN
        RETURN coalesce(cardinality(added), 0) + coalesce(cardinality(made), 0) + (
            SELECT add_clicks(array_agg(id ORDER BY id), array_agg(n ORDER BY id), array_agg(owner ORDER BY id), of_interval)
            FROM unnest(ids, counts, owners) AS triple (id, n, owner) WHERE id IN (SELECT unnest(again)));
    END IF;
    RETURN coalesce(cardinality(added), 0) + coalesce(cardinality(made), 0);
END
$$;

-- The same for links whose owners the caller does not know.
CREATE FUNCTION count_clicks(ids bigint[], counts bigint[], of_interval integer) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN (
        SELECT add_clicks(array_agg(id ORDER BY id), array_agg(n ORDER BY id), array_agg(owner_id ORDER BY id), of_interval) FROM (
            SELECT id, n, (SELECT coalesce(made_by, owner_id, 0) FROM links WHERE links.id = pair.id) AS owner_id FROM unnest(ids, counts) AS pair (id, n)
        ) AS owned WHERE owner_id IS NOT NULL);
END
$$;

-- # Parts

-- Clicks of one interval that are not added to links yet, by bands of links: a band is 2^level ids wide, and `band` is its first
-- id times 32, and its level. A writer makes a band narrower until it has at most 128 links, or is 128 ids wide. So the parts that
-- may have the clicks of a link are found by one key for each level, and few links make few parts.
CREATE TABLE click_parts (
    band     bigint   NOT NULL,
    -- The flush that it is of; '' and 0 for a batch of the journal.
    epoch    text     NOT NULL,
    flush    bigint   NOT NULL,
    interval integer  NOT NULL,
    -- Rising ids, less the first id of the band; their clicks; their owners, or one owner for all of them.
    links    integer[] NOT NULL,
    clicks   bigint[]  NOT NULL,
    owners   bigint[]  NOT NULL,
    -- Packed classes of clicks that are in other parts, or counted otherwise. Such a part has no links, and the band -1; the band -2 until
    -- its clicks are in the feeds of events, or -3 if no class was noted: then the part ends there.
    classes  bytea,
    -- Of a part with the band -2 or -3, the owners of the links in `classes`, packed.
    link_owners bytea
)
WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
-- Some 2 KB stay in the row: neither compressed nor moved.
ALTER TABLE click_parts ALTER links SET STORAGE PLAIN, ALTER clicks SET STORAGE PLAIN, ALTER owners SET STORAGE PLAIN;
CREATE INDEX click_parts_band ON click_parts (band);
CREATE INDEX click_parts_flush ON click_parts (epoch, flush) WHERE epoch <> '';

-- The bands that may have a link. Writers know these levels, too.
CREATE FUNCTION bands_of(link bigint) RETURNS bigint[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ARRAY[(link >> 7 << 12) + 7, (link >> 10 << 15) + 10, (link >> 13 << 18) + 13, (link >> 16 << 21) + 16, (link >> 19 << 24) + 19,
        (link >> 22 << 27) + 22, (link >> 25 << 30) + 25, (link >> 28 << 33) + 28, (link >> 31 << 36) + 31];
$$;

-- The clicks of a link that are in parts. width_bucket is a binary search for its place in the part.
CREATE FUNCTION points_in_parts(of_link bigint) RETURNS TABLE (at integer, clicks bigint) LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT interval, part.clicks[place] FROM click_parts AS part
    CROSS JOIN LATERAL (SELECT width_bucket((of_link - (band >> 5))::integer, links) AS place OFFSET 0) AS found
    WHERE band = ANY (bands_of(of_link)) AND links[place] = of_link - (band >> 5);
$$;

-- The same for all links that an account made, also for links that were moved or deleted since. The parts of a million links are 20 MB, so
-- the parts of a few links are found by their bands.
CREATE FUNCTION owner_points_in_parts(of_owner bigint) RETURNS TABLE (link bigint, at integer, clicks bigint)
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT clicked.link, interval, as_count(sum(clicked.n)) FROM (
        SELECT band, interval, links, clicks, owners FROM click_parts
        WHERE (SELECT links <= 2000 FROM link_totals WHERE owner_id = of_owner) IS TRUE
            AND band = ANY (ARRAY(SELECT DISTINCT unnest(bands_of(id)) FROM (
                SELECT id FROM links WHERE owner_id = of_owner UNION ALL SELECT id FROM links WHERE made_by = of_owner) AS made))
        UNION ALL
        SELECT band, interval, links, clicks, owners FROM click_parts
        WHERE (SELECT links <= 2000 FROM link_totals WHERE owner_id = of_owner) IS NOT TRUE AND band >= 0
    ) AS part
    -- OFFSET 0: without the lists, which would be sorted with each link.
    CROSS JOIN LATERAL (
        SELECT (part.band >> 5) + part.links[place] AS link, part.clicks[place] AS n FROM unnest(
            CASE WHEN cardinality(part.owners) = 1 THEN ARRAY(SELECT generate_subscripts(part.links, 1)) ELSE array_positions(part.owners, of_owner) END
        ) AS place OFFSET 0
    ) AS clicked
    WHERE of_owner = ANY (part.owners) GROUP BY clicked.link, interval;
$$;

-- Inserts the clicks of one interval as parts: `bands`, and the place of the last link of each in the other lists.
CREATE FUNCTION insert_parts(
    of_epoch text, of_flush bigint, of_interval integer, bands bigint[], ends integer[], ids integer[], counts bigint[], owners_of bigint[])
RETURNS void LANGUAGE sql AS $$
    INSERT INTO click_parts (band, epoch, flush, interval, links, clicks, owners)
    SELECT part.band, of_epoch, of_flush, of_interval, ids[first_place:last_place], counts[first_place:last_place],
        CASE WHEN cardinality(owners_of) = 1 THEN owners_of ELSE owners_of[first_place:last_place] END
    FROM (
        SELECT list.band, coalesce(lag(list.last_place) OVER (ORDER BY list.last_place), 0) + 1 AS first_place, list.last_place
        FROM unnest(bands, ends) AS list (band, last_place)
    ) AS part;
$$;

-- Inserts the classes of clicks as a part of its own. With owners, the clicks get into the feeds of events first.
CREATE FUNCTION insert_classes(
    of_epoch text, of_flush bigint, of_interval integer, with_classes bytea, with_owners bytea, are_noted boolean)
RETURNS void LANGUAGE sql AS $$
    INSERT INTO click_parts (band, epoch, flush, interval, links, clicks, owners, classes, link_owners)
    SELECT CASE WHEN with_owners IS NULL THEN -1 WHEN are_noted THEN -2 ELSE -3 END, of_epoch, of_flush, of_interval, '{}', '{}', '{}', with_classes, with_owners
    WHERE with_classes IS NOT NULL;
$$;

-- Adds parts of these bands to links, all of one interval, and no more than some thousand links at once. It passes over parts that another
-- merge has locked. Returns how many links and clicks that were, and whether it left some of these parts.
CREATE FUNCTION merge_parts(of_bands bigint[], OUT link_count bigint, OUT click_count bigint, OUT are_more boolean)
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE
    of_interval integer;
    last        integer;
    places      tid[];
    ids         bigint[];
    counts      bigint[];
    owners_of   bigint[];
BEGIN
    SELECT min(interval), max(interval) INTO of_interval, last FROM click_parts WHERE band = ANY (of_bands);
    WITH locked AS MATERIALIZED (
        SELECT ctid AS place, band, cardinality(links) AS size FROM click_parts
        WHERE band = ANY (of_bands) AND interval = of_interval LIMIT 256 FOR UPDATE SKIP LOCKED
    )
    -- Few of the links may be in several parts.
    SELECT coalesce(array_agg(place), '{}'), count(*) < (SELECT count(*) FROM locked) OR count(*) = 256 OR of_interval < last
    INTO places, are_more
    FROM (SELECT place, size, sum(size) OVER (ORDER BY band, place) AS up_to FROM locked) AS sizes WHERE up_to - size < 8192;
    WITH taken AS (
        DELETE FROM click_parts WHERE ctid = ANY (places) RETURNING band, links, clicks, owners
    ),
    sums AS MATERIALIZED (
        -- OFFSET 0: without the lists, which would be sorted with each link.
        SELECT id, as_count(sum(n)) AS n, min(owner) AS owner FROM (
            SELECT (band >> 5) + link AS id, n, coalesce(owner, owners[1]) AS owner
            FROM taken, unnest(links, clicks, owners) AS triple (link, n, owner) OFFSET 0
        ) AS of_parts GROUP BY id ORDER BY id
    )
    SELECT array_agg(id), array_agg(n), array_agg(owner), as_count(coalesce(sum(n) FILTER (WHERE owner <> 0), 0)) INTO ids, counts, owners_of, click_count FROM sums;
    link_count := CASE WHEN ids IS NULL THEN 0 ELSE add_clicks(ids, counts, owners_of, of_interval) END;
    -- A merge does not wait for parts that are locked.
    are_more := are_more AND ids IS NOT NULL;
END
$$;

-- # The journal

-- Batches of clicks that may also be in Redis and do not count. Other batches are parts from the beginning.
--
-- The table is nearly empty at all times, and its dead rows are what a reading has to pass: a share of its size says nothing.
CREATE TABLE parked_batches (
    recorder bigint   NOT NULL,
    number   bigint   NOT NULL,
    -- That of the Redis data set that the batch may be in.
    epoch    text     NOT NULL,
    interval integer  NOT NULL,
    link_ids bigint[] NOT NULL,
    -- The owners of these links; a single one if all are the same.
    owners   bigint[] NOT NULL,
    clicks   bigint[] NOT NULL,
    -- Packed classes; NULL if no class of the batch is known.
    details  bytea,
    PRIMARY KEY (recorder, number)
)
WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);

-- The numbers of batches that the database got, of which the newest of each recorder is kept. A mark is a new
-- row, found from its upper end, so old rows cost an append nothing and an append leaves no dead row behind: while another
-- session holds a snapshot (pg_dump), no old version of an updated row could go, and each append would walk all of them.
CREATE TABLE journal_marks (
    recorder  bigint NOT NULL,
    number    bigint NOT NULL,
    noted_at  bigint NOT NULL DEFAULT now_micros(),
    PRIMARY KEY (recorder, number)
)
WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);

-- Notes a batch, once; returns whether it was noted now. The primary key is the lock: a repetition waits at it until the original
-- is committed or gone.
CREATE FUNCTION is_new_batch(of_recorder bigint, with_number bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO journal_marks (recorder, number)
    SELECT of_recorder, with_number
    WHERE NOT EXISTS (SELECT FROM journal_marks WHERE recorder = of_recorder AND number >= with_number)
    ON CONFLICT (recorder, number) DO NOTHING;
    -- A newer mark may have replaced that of the original, too late for the snapshot of the INSERT. The next statement has a
    -- younger one (READ COMMITTED).
    RETURN FOUND AND NOT EXISTS (SELECT FROM journal_marks WHERE recorder = of_recorder AND number > with_number);
END
$$;

-- # Limits

-- How many clicks links with max_clicks were granted; the lock on a row puts the grants in order. A link that is made with a
-- limit gets its row with it, any other one when the clicks from before its limit are to be counted. No foreign key: a deletion
-- would wait for grants, and the deletions of several links in another order than grants go by. The rows of deleted links
-- are removed with their clicks.
CREATE TABLE link_limits (
    link_id       bigint PRIMARY KEY,
    -- Clicks from before the limit; NULL until they are counted.
    clicks_before bigint,
    -- The counting of them that was begun last; NULL if a click came that it may miss.
    counting      bigint,
    -- Clicks granted since.
    granted       bigint NOT NULL DEFAULT 0
)
WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

CREATE FUNCTION link_made_with_limit() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO link_limits (link_id, clicks_before) VALUES (NEW.id, 0);
    RETURN NULL;
END
$$;
CREATE TRIGGER links_made_with_limit AFTER INSERT ON links
    FOR EACH ROW WHEN (NEW.max_clicks IS NOT NULL) EXECUTE FUNCTION link_made_with_limit();

-- A limit that comes or goes: clicks from outside of its time are not granted, and have to be counted before it.
CREATE FUNCTION link_limit_came_or_went() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM link_limits WHERE link_id = NEW.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER links_limit_came_or_went AFTER UPDATE OF max_clicks ON links
    FOR EACH ROW WHEN ((OLD.max_clicks IS NULL) <> (NEW.max_clicks IS NULL)) EXECUTE FUNCTION link_limit_came_or_went();

-- What was granted to each batch, for the instance that did not get the answer.
CREATE TABLE click_grants (
    recorder    bigint   NOT NULL,
    number      bigint   NOT NULL,
    link_ids    bigint[] NOT NULL,
    clicks      bigint[] NOT NULL,
    -- How many are left of each link: below 0 if the limit was lowered, NULL until the clicks before it are counted,
    -- the largest number if there is no limit any more.
    clicks_left bigint[] NOT NULL,
    granted_at  bigint   NOT NULL DEFAULT now_micros(),
    PRIMARY KEY (recorder, number)
)
WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Grants as many of the clicks that a batch asks for as are left, and counts them. The locks on the rows of limits, which put
-- grants in order, are the lock here, too: a repetition asks for the same links, waits for the original, and gets the same
-- answer. It is refused by the primary key of click_grants in the one case without a common row: no link had a limit at the
-- original, and one got it meanwhile. Sent once more it gets the answer.
CREATE FUNCTION grant_clicks(
    of_recorder bigint, with_number bigint, ids bigint[], counts bigint[], of_interval integer)
RETURNS TABLE (link_ids bigint[], clicks bigint[], clicks_left bigint[], is_new boolean) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    granted_ids    bigint[];
    granted_counts bigint[];
    granted_now    boolean := false;
BEGIN
    PERFORM FROM link_limits WHERE link_id = ANY (ids) ORDER BY link_id FOR UPDATE;
    -- Statements of their own: their snapshots are younger than the locks, and show every grant before (READ COMMITTED).
    IF NOT EXISTS (SELECT FROM click_grants WHERE recorder = of_recorder AND number >= with_number) THEN
        WITH asked AS (
            SELECT id, n,
                (SELECT coalesce(max_clicks, 9223372036854775807) FROM links WHERE links.id = pair.id) AS max_clicks,
                (SELECT clicks_before + granted FROM link_limits WHERE link_id = pair.id) AS granted_before,
                coalesce((SELECT clicks FROM link_clicks WHERE link_id = pair.id), 0)
                    + coalesce((SELECT sum(clicks) FROM points_in_parts(pair.id)), 0) AS counted_before
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
        kept AS (
            INSERT INTO click_grants (recorder, number, link_ids, clicks, clicks_left)
            SELECT of_recorder, with_number, array_agg(id ORDER BY id), array_agg(n ORDER BY id),
                array_agg(CASE WHEN clicks_left < 9223372036854775807 THEN clicks_left - n ELSE clicks_left END ORDER BY id)
            FROM answers
        )
        SELECT array_agg(id ORDER BY id), array_agg(n ORDER BY id) INTO granted_ids, granted_counts
        FROM answers WHERE n > 0;
        IF granted_ids IS NOT NULL THEN
            PERFORM count_clicks(granted_ids, granted_counts, of_interval);
        END IF;
        granted_now := true;
    END IF;
    RETURN QUERY SELECT kept.link_ids, kept.clicks, kept.clicks_left, granted_now FROM click_grants AS kept
    WHERE recorder = of_recorder AND number = with_number;
END
$$;

-- # Pools

-- Targets of which each visitor of a link gets the next one, in their order; the lock on a row puts the visitors in order. A pool
-- that is emptied gets another id: what an instance took from it before, and no visitor got, is worth nothing.
CREATE TABLE pools (
    id      bigint PRIMARY KEY,
    link_id bigint NOT NULL UNIQUE REFERENCES links (id) ON DELETE CASCADE,
    -- Targets that were ever added, and how many of them were taken.
    size    bigint NOT NULL DEFAULT 0,
    given   bigint NOT NULL DEFAULT 0
);

-- The targets, some to a row.
CREATE TABLE pool_targets (
    pool    bigint NOT NULL REFERENCES pools (id) ON DELETE CASCADE,
    -- The place of the first of them among all of the pool.
    first   bigint NOT NULL,
    -- A JSON array of texts.
    targets text   NOT NULL,
    PRIMARY KEY (pool, first)
);

-- What each process took last, for one that did not get the answer.
CREATE TABLE pool_takes (
    pool     bigint NOT NULL REFERENCES pools (id) ON DELETE CASCADE,
    process  bigint NOT NULL,
    number   bigint NOT NULL,
    first    bigint NOT NULL,
    targets  bigint NOT NULL,
    taken_at bigint NOT NULL,
    PRIMARY KEY (pool, process)
);

-- # Sums by owner

-- Sums over all links of an account: clicks by interval, as in link_series and link_clicks (those in parts are not in them).
-- Writers add rows to owner_series_log and so never wait for each other; a job adds those up
-- in owner_series. A sum is that of both tables. No sum is below 0, but a row may be until the log is added up.
CREATE TABLE owner_series (
    owner_id bigint  NOT NULL,
    interval integer NOT NULL,
    clicks   bigint  NOT NULL,
    PRIMARY KEY (owner_id, interval)
)
WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);

CREATE TABLE owner_series_log (
    owner_id bigint  NOT NULL,
    interval integer NOT NULL,
    clicks   bigint  NOT NULL DEFAULT 0,
    -- Packed clicks by class, for class_days: in rows of their own, which count no clicks.
    classes  bytea
)
WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
CREATE INDEX owner_series_log_owner ON owner_series_log (owner_id);

-- Clicks of all links that were counted, by the day of UTC on which they came, for administrators. The job that adds the log up adds to
-- them, and no deletion of a link subtracts from them.
CREATE TABLE service_days (
    -- Days since 1970.
    day    integer NOT NULL PRIMARY KEY,
    clicks bigint  NOT NULL
);

-- Adds up to so many rows of the log up; returns whether there are more, and the classes in them. One caller at a time. It takes all rows
-- of an owner together, as each owner's sums are written anew with every call, and begins with the owner of an old row, so that no owner
-- waits for ever; after the last owner come the first ones. The rows of the log have no key, which would make writing them a quarter dearer.
-- The settings leave one plan, also for a log that has grown since: the first row as it comes, and the others by the index.
CREATE FUNCTION sum_owner_series_log(
    at_most bigint, OUT are_more boolean, OUT owners bigint[], OUT intervals integer[], OUT classes_of bytea[])
LANGUAGE sql SET enable_sort = off SET enable_indexonlyscan = off SET enable_bitmapscan = off SET jit = off AS $$
    WITH old AS MATERIALIZED (
        SELECT owner_id AS owner FROM owner_series_log LIMIT 1
    ),
    taken AS (
        DELETE FROM owner_series_log WHERE ctid = ANY (ARRAY(
            (SELECT ctid FROM owner_series_log WHERE owner_id >= (SELECT owner FROM old) ORDER BY owner_id LIMIT at_most)
            UNION ALL
            (SELECT ctid FROM owner_series_log WHERE owner_id < (SELECT owner FROM old) ORDER BY owner_id LIMIT at_most)
            LIMIT at_most))
        RETURNING owner_id, interval, clicks, classes
    ),
    sums AS (
        SELECT owner_id, interval, as_count(sum(clicks)) AS clicks FROM taken GROUP BY owner_id, interval
    ),
    added AS (
        INSERT INTO owner_series SELECT owner_id, interval, clicks FROM sums
        WHERE clicks <> 0 AND (SELECT true FROM users WHERE id = owner_id)
        ORDER BY owner_id, interval
        ON CONFLICT (owner_id, interval) DO UPDATE SET clicks = as_count(owner_series.clicks::numeric + excluded.clicks)
    ),
    of_days AS (
        INSERT INTO service_days SELECT interval / 96, as_count(sum(clicks)) FROM taken WHERE clicks > 0 GROUP BY 1
        ON CONFLICT (day) DO UPDATE SET clicks = as_count(service_days.clicks::numeric + excluded.clicks)
    )
    SELECT count(*) = at_most,
        array_agg(owner_id) FILTER (WHERE classes IS NOT NULL), array_agg(interval) FILTER (WHERE classes IS NOT NULL),
        array_agg(classes) FILTER (WHERE classes IS NOT NULL)
    FROM taken;
$$;

-- A link that is deleted takes its aliases with it, and leaves the sums with all of its clicks. Its row in link_clicks is locked first, and made if it is
-- missing: who adds clicks at this moment is waited for, or waits. Clicks in parts are in no sum yet, and will be dropped.
CREATE FUNCTION owner_series_less() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO link_clicks (link_id, clicks, interval, in_interval, is_deleted) VALUES (OLD.id, 0, 0, 0, true)
    ON CONFLICT (link_id) DO UPDATE SET is_deleted = true;
    IF OLD.aliases <> '[]' THEN
        DELETE FROM links WHERE alias_of = OLD.id;
    END IF;
    IF OLD.owner_id IS NOT NULL THEN
        INSERT INTO owner_series_log (owner_id, interval, clicks)
        SELECT coalesce(OLD.made_by, OLD.owner_id), at, -sum(clicks) FROM merged_points(OLD.id, 0) WHERE clicks > 0 GROUP BY at;
    END IF;
    RETURN OLD;
END
$$;
CREATE TRIGGER owner_series_less BEFORE DELETE ON links FOR EACH ROW EXECUTE FUNCTION owner_series_less();

CREATE FUNCTION owner_series_end() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM owner_series WHERE owner_id IN (SELECT id FROM deleted);
    DELETE FROM owner_series_log WHERE owner_id IN (SELECT id FROM deleted);
    RETURN NULL;
END
$$;
CREATE TRIGGER owner_series_end AFTER DELETE ON users REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION owner_series_end();

-- # Classes of clicks

-- What is kept of visitors. Each class is a row once; '' is a value that is not known.
CREATE TABLE click_classes (
    id       integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    referrer text NOT NULL,
    country  text NOT NULL,
    browser  text NOT NULL,
    os       text NOT NULL,
    device   text NOT NULL,
    rule     text NOT NULL,
    -- The alias that was followed; '' is the link's own code.
    code     text NOT NULL,
    bot      text NOT NULL,
    UNIQUE (referrer, country, browser, os, device, rule, code, bot)
);
-- Those of which nothing is known but whether it was a known bot: clicks for whose class there is no room have them.
INSERT INTO click_classes (referrer, country, browser, os, device, rule, code, bot)
VALUES ('', '', '', '', '', '', '', ''), ('', '', '', '', '', '', '', 'true'), ('', '', '', '', '', '', '', 'false');

-- Clicks by class of one day (UTC): of a link, whose id is `whose`, or of all links of an account, whose id is `-whose`. `day` is the
-- day's first interval. The key begins with the day, so that clicks of today change one small part of the index. The packed form
-- is that of `class_day` in the code.
CREATE TABLE class_days (
    day      integer NOT NULL,
    whose    bigint  NOT NULL,
    -- Clicks of known bots by quarter of an hour, for ever: what a series is without.
    bots     bytea   NOT NULL,
    -- Clicks by class in the quarters that have left the row.
    ended    bytea   NOT NULL,
    -- Clicks by quarter and class in the other quarters.
    quarters bytea   NOT NULL,
    PRIMARY KEY (day, whose)
)
-- As link_clicks: rows are changed in their pages.
WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);

-- The rows of some days. A version changes with each change of its row.
-- One by one, in this form and with these settings: a plan that was made while days were few would read all of them.
CREATE FUNCTION read_class_days(days integer[], whose_of bigint[])
RETURNS TABLE (at integer, of_whose bigint, of_bots bytea, of_ended bytea, of_quarters bytea, version text)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
BEGIN
    RETURN QUERY SELECT day, whose, bots, ended, quarters, class_days.xmin::text
    FROM unnest(days, whose_of) AS asked (asked_day, asked_whose)
    CROSS JOIN LATERAL (SELECT *, class_days.xmin FROM class_days WHERE day = asked_day AND whose = asked_whose LIMIT 1) AS class_days;
END
$$;

-- Writes days: over a row of this version, or, without a version, as a new row. Returns which it has written: another transaction may have
-- been first. It takes no lock before it writes; the days are in rising order, so that writers hardly ever deadlock. Without new
-- sums of quarters that have ended, the old ones stay, and with them the pages that they may have of their own.
CREATE FUNCTION write_class_days(
    days integer[], whose_of bigint[], versions text[], bots_of bytea[], ended_of bytea[], quarters_of bytea[])
RETURNS TABLE (at integer, of_whose bigint)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
BEGIN
    RETURN QUERY UPDATE class_days SET bots = new_bots, ended = coalesce(new_ended, ended), quarters = new_quarters
    FROM (
        SELECT written.*, (SELECT ctid FROM class_days WHERE day = new_day AND whose = new_whose) AS place
        FROM unnest(days, whose_of, versions, bots_of, ended_of, quarters_of)
            AS written (new_day, new_whose, version, new_bots, new_ended, new_quarters)
        WHERE version IS NOT NULL OFFSET 0
    ) AS found
    WHERE class_days.ctid = place AND day = new_day AND whose = new_whose AND class_days.xmin = version::xid RETURNING day, whose;
    RETURN QUERY INSERT INTO class_days (day, whose, bots, ended, quarters)
    SELECT new_day, new_whose, new_bots, coalesce(new_ended, ''), new_quarters
    FROM unnest(days, whose_of, versions, bots_of, ended_of, quarters_of)
        AS written (new_day, new_whose, version, new_bots, new_ended, new_quarters)
    WHERE version IS NULL ON CONFLICT (day, whose) DO NOTHING RETURNING day, whose;
END
$$;

-- Quarters that have left their row: several rows of a day, and a quarter may be in more than one of them.
CREATE TABLE class_quarters (
    day      integer NOT NULL,
    whose    bigint  NOT NULL,
    quarters bytea   NOT NULL
);
CREATE INDEX class_quarters_day ON class_quarters (day, whose);

-- The days that class_days has, from one to another: its key begins with the day, so a reader looks up each of them.
CREATE FUNCTION class_days_between(first_day integer, last_day integer) RETURNS SETOF integer LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT generate_series(greatest(first_day, oldest), least(last_day, newest), 96)
    FROM (SELECT (SELECT min(day) FROM class_days) AS oldest, (SELECT max(day) FROM class_days) AS newest) AS days WHERE oldest IS NOT NULL;
$$;

-- Up to which row of class_days the quarters are summed, because they are not kept any more.
CREATE TABLE class_days_pruned (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    day      integer NOT NULL,
    whose    bigint  NOT NULL
);
INSERT INTO class_days_pruned (day, whose) VALUES (0, 0);

-- How many classes were new in a quarter of a link, over all quarters of each day (UTC). `at` is its first interval.
CREATE TABLE click_detail_growth (
    at       integer PRIMARY KEY,
    new_rows bigint NOT NULL
);

-- Deleted links whose rows in these tables are to be removed, once nothing can be writing them any more.
CREATE TABLE deleted_details (
    link_id    bigint PRIMARY KEY,
    owner_id   bigint NOT NULL,
    deleted_at bigint NOT NULL DEFAULT now_micros()
);
-- Bots of deleted links are in the days of their owner until their rows are removed; readers subtract them.
CREATE INDEX deleted_details_owner ON deleted_details (owner_id);

CREATE FUNCTION link_details_end() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO deleted_details (link_id, owner_id) SELECT id, coalesce(made_by, owner_id) FROM deleted WHERE owner_id IS NOT NULL
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
CREATE TRIGGER link_details_end AFTER DELETE ON links REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION link_details_end();

-- An account has days also if its links were deleted before it: it is noted like a link.
CREATE FUNCTION owner_details_end() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO deleted_details (link_id, owner_id) SELECT -id, id FROM deleted ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
CREATE TRIGGER owner_details_end AFTER DELETE ON users REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION owner_details_end();

-- # Redis

-- The ledger: one row for the lifetime of each data set of Redis. A term is a fencing token: it rises when a server is
-- taken into use, and a flush is written only under the term that is in the row.
CREATE SEQUENCE terms;

CREATE TABLE data_sets (
    epoch          text PRIMARY KEY,
    -- What the data set's keys begin with. Of all rows with a tag, the one with the highest term is in use.
    tag            text   NOT NULL,
    term           bigint NOT NULL UNIQUE,
    -- Of the server that the term is for.
    replication_id text   NOT NULL,
    -- The newest flush, its unique name, and up to which link it is written. A number comes again if a data set went back
    -- unnoticed; a name does not.
    flush          bigint NOT NULL DEFAULT 0,
    flush_name     text   NOT NULL DEFAULT '',
    up_to          bigint NOT NULL DEFAULT 0,
    -- The moment up to which all clicks that the data set was given are written back: answers name it while Redis is away.
    written_up_to  bigint,
    began_at       bigint NOT NULL DEFAULT now_micros(),
    -- Set once another data set has taken its place: until then, its instances may still write its clicks back.
    drains_until   bigint
)
-- Room in its page for the updates of every flush.
WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

CREATE INDEX data_sets_newest ON data_sets (tag, term);

-- How many flushes of a data set have parts.
CREATE FUNCTION unmerged_flushes(of_epoch text) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT count(DISTINCT flush) FROM click_parts WHERE epoch = of_epoch AND epoch <> '';
$$;

-- Writes links of a flush as parts, and moves the mark of the flush, in one transaction: from a mark where the ledger stands, in the
-- term of the data set, and a flush without any mark only while fewer than so many others have parts. Returns whether it did.
CREATE FUNCTION write_flush(
    of_epoch text, of_term bigint, of_flush bigint, with_name text, begins_at bigint, ends_at bigint, most_flushes bigint,
    of_interval integer, bands bigint[], ends integer[], ids integer[], counts bigint[], owners_of bigint[], with_details bytea,
    link_owners bytea, are_noted boolean)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    -- The row is locked first: another writer of the same links waits, and then finds them written.
    PERFORM FROM data_sets WHERE epoch = of_epoch AND term = of_term
        AND (flush = of_flush AND up_to = begins_at AND flush_name = with_name OR flush < of_flush AND begins_at = 0) FOR NO KEY UPDATE;
    -- A statement of its own: its snapshot is younger than the lock.
    IF NOT FOUND OR begins_at = 0 AND unmerged_flushes(of_epoch) >= most_flushes THEN
        RETURN false;
    END IF;
    UPDATE data_sets SET flush = of_flush, up_to = ends_at, flush_name = with_name WHERE epoch = of_epoch;
    PERFORM insert_parts(of_epoch, of_flush, of_interval, bands, ends, ids, counts, owners_of);
    PERFORM insert_classes(of_epoch, of_flush, of_interval, with_details, link_owners, are_noted);
    -- An asynchronous commit is lost in a crash only together with all later ones. So the last part, whose commit is synchronous,
    -- makes all parts durable.
    IF ends_at < 9223372036854775807 THEN
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
    RETURN true;
END
$$;

-- Rows to lock: servers that only speak the protocol of Postgres may lack advisory locks. That of a tag puts its terms in order;
-- the others let one instance at a time do a job.
CREATE TABLE locks (
    name text PRIMARY KEY
);
INSERT INTO locks (name) VALUES ('owner series');

-- Into how many shards the data sets of a Redis Cluster are divided, for each prefix of keys: all instances have the same
-- number, and former data sets are written back before the number changes.
CREATE TABLE redis_shards (
    prefix text   PRIMARY KEY,
    shards bigint NOT NULL
);

-- # Against abuse

-- Accounts that administer the service.
CREATE TABLE user_roles (
    user_id    bigint PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    -- admin
    role       text   NOT NULL,
    granted_at bigint NOT NULL
);

-- Open invitations: who may make an account with this address. The link has a secret, of which `hash` is the beginning of its
-- SHA-256. An invitation that is used or revoked is gone.
CREATE TABLE invitations (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    email      text   NOT NULL,
    email_key  text   NOT NULL,
    -- admin, or empty
    role       text   NOT NULL,
    -- The group that the account joins, and its role there.
    group_id   bigint REFERENCES users (id) ON DELETE SET NULL,
    group_role text,
    hash       bytea  NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    CONSTRAINT invitations_email_key_unique UNIQUE (email_key),
    CONSTRAINT invitations_hash_unique UNIQUE (hash)
);
CREATE INDEX invitations_by_group ON invitations (group_id) WHERE group_id IS NOT NULL;
CREATE INDEX invitations_by_end ON invitations (expires_at);

-- What administrators did.
CREATE TABLE audit_log (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      bigint NOT NULL,
    -- NULL: an operator on the command line, or the service.
    user_id bigint,
    address text   NOT NULL,
    action  text   NOT NULL,
    subject text   NOT NULL,
    detail  text   NOT NULL
);
CREATE INDEX audit_log_by_time ON audit_log (at);

-- What the service's administrators take away. A link may be covered by several removals, and is removed while one of them
-- covers it.
CREATE TABLE removals (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- link, host, user, address, or blocklist: the service's own, of all that the list covers.
    kind          text   NOT NULL,
    value         text   NOT NULL,
    reason        text   NOT NULL,
    -- 410 or 451.
    status        bigint NOT NULL,
    -- The account whose work it was; NULL: an operator on the command line, or the service.
    removed_by    bigint,
    removed_at    bigint NOT NULL,
    revoked_at    bigint,
    -- Links are scanned from after this position on, to be removed or restored; NULL: the scan is over.
    scan_position bigint,
    -- When they are scanned once more, for links that were made meanwhile; NULL: during the first scan.
    rescan_at     bigint,
    -- Of the blocklist: which one it is.
    digest        text
);
CREATE INDEX removals_to_scan ON removals (id) WHERE scan_position IS NOT NULL;
CREATE UNIQUE INDEX removals_in_force ON removals (kind, value) WHERE revoked_at IS NULL;

-- Which links each removal covers.
CREATE TABLE link_removals (
    link_id    bigint NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    removal_id bigint NOT NULL REFERENCES removals (id),
    status     bigint NOT NULL,
    PRIMARY KEY (link_id, removal_id)
);
CREATE INDEX link_removals_by_removal ON link_removals (removal_id, link_id);

-- Banned accounts. Their password is kept here meanwhile: the one in users is no hash, so that nothing logs them in.
CREATE TABLE banned_users (
    user_id       bigint PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    password_hash text   NOT NULL,
    removal_id    bigint NOT NULL REFERENCES removals (id)
);

-- What a request may name an account by: the key in its tokens, or a key for programs; and a group, by the key in the tokens of each
-- member. Each statement in the name of an account looks here, so that what has ended is refused without a further query: also the
-- token of a member who was removed.
CREATE VIEW account_keys (user_id, key) AS
    SELECT id, token_key FROM users
    UNION ALL
    SELECT user_id, hash FROM api_keys WHERE expires_at IS NULL OR expires_at > now_micros()
    UNION ALL
    SELECT group_id, token_key FROM group_members JOIN users ON users.id = group_members.user_id
    WHERE NOT EXISTS (SELECT FROM banned_users WHERE banned_users.user_id = group_id);

-- The addresses that links were made from, for AUDIT_DAYS.
CREATE TABLE link_addresses (
    link_id  bigint PRIMARY KEY REFERENCES links (id) ON DELETE CASCADE,
    address  text   NOT NULL,
    noted_at bigint NOT NULL
);

-- Links that visitors reported.
CREATE TABLE reports (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    link_id     bigint NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    reason      text   NOT NULL,
    address     text   NOT NULL,
    reported_at bigint NOT NULL,
    -- When an administrator closed it; NULL: it is open.
    closed_at   bigint
);
CREATE INDEX reports_by_link ON reports (link_id);
CREATE INDEX open_reports ON reports (link_id, id) WHERE closed_at IS NULL;
CREATE INDEX closed_reports ON reports (closed_at, id) WHERE closed_at IS NOT NULL;
CREATE INDEX reports_by_time ON reports (reported_at);

-- # Events

-- What happened to links, until it has its place in the feed of their account. Triggers write it, in the transaction in which it happens,
-- also by hand. Clicks wait in click_parts.
CREATE TABLE event_queue (
    number     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner_id   bigint NOT NULL,
    link_id    bigint NOT NULL,
    type       text   NOT NULL,
    at         bigint NOT NULL DEFAULT now_micros(),
    short_code text   NOT NULL,
    target_url text   NOT NULL,
    title      text   NOT NULL,
    tags       text   NOT NULL,
    -- Of a link that is made, the clicks with which it starts.
    clicks     bigint NOT NULL DEFAULT 0,
    -- Of a link that is moved, its new owner.
    moved_to   bigint
)
WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX event_queue_by_link ON event_queue (link_id);

-- The feeds. A step gives the next places to all that waits; its number is its place among all steps. `first` counts the events of an
-- account within a step. A row is one event of a link, or the clicks of one interval, packed as classes are, with an event for each link.
CREATE TABLE events (
    owner_id   bigint  NOT NULL,
    step       bigint  NOT NULL,
    first      bigint  NOT NULL,
    size       bigint  NOT NULL,
    type       text    NOT NULL,
    at         bigint  NOT NULL,
    -- When it got its place.
    told_at    bigint  NOT NULL,
    link_id    bigint,
    short_code text,
    target_url text,
    title      text,
    tags       text,
    clicks     bigint,
    interval   bigint,
    classes    bytea,
    PRIMARY KEY (owner_id, step, first)
)
WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
CREATE INDEX events_by_step ON events (step, owner_id);
-- Codes of links that are gone.
CREATE INDEX events_by_link ON events (owner_id, link_id) WHERE link_id IS NOT NULL;

-- The newest step, and the link that expired last of those whose end is noted. Who makes a step locks the table.
CREATE TABLE event_steps (
    only_one   boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    step       bigint  NOT NULL DEFAULT 0,
    ended_at   bigint  NOT NULL DEFAULT 0,
    ended_link bigint  NOT NULL DEFAULT 0
);
INSERT INTO event_steps DEFAULT VALUES;

-- With which step each history of the database began: a place in the feed is valid in the history that gave it.
CREATE TABLE event_histories (
    id    text   PRIMARY KEY,
    began bigint NOT NULL
);
CREATE INDEX event_histories_began ON event_histories (began);

-- The last place of each account whose event is not kept any more.
CREATE TABLE events_pruned (
    owner_id   bigint PRIMARY KEY,
    step       bigint NOT NULL,
    last_index bigint NOT NULL
);

CREATE FUNCTION events_end() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM event_queue WHERE owner_id IN (SELECT id FROM deleted);
    DELETE FROM events WHERE owner_id IN (SELECT id FROM deleted);
    DELETE FROM events_pruned WHERE owner_id IN (SELECT id FROM deleted);
    RETURN NULL;
END
$$;
CREATE TRIGGER events_end AFTER DELETE ON users REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION events_end();

CREATE FUNCTION note_event(link links, of_type text, new_owner bigint) RETURNS void LANGUAGE sql AS $$
    INSERT INTO event_queue (owner_id, link_id, type, short_code, target_url, title, tags, moved_to)
    SELECT link.owner_id, link.id, of_type, link.short_code, link.target_url, link.title, link.tags, new_owner;
$$;

-- The links of a deleted account end with its feed.
CREATE FUNCTION link_happened() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM note_event(NEW, 'link.created', NULL);
    ELSIF TG_OP = 'DELETE' THEN
        IF OLD.trashed_at = 0 AND NOT EXISTS (SELECT FROM deleted_users WHERE user_id = OLD.owner_id) THEN
            PERFORM note_event(OLD, 'link.deleted', NULL);
        END IF;
    ELSIF OLD.trashed_at = 0 AND NEW.trashed_at > 0 THEN
        PERFORM note_event(OLD, 'link.deleted', NULL);
    ELSIF NEW.trashed_at > 0 THEN
        RETURN NULL;
    ELSE
        IF OLD.owner_id <> NEW.owner_id THEN
            PERFORM note_event(OLD, 'link.moved', NEW.owner_id);
        END IF;
        IF OLD.trashed_at > 0 OR OLD.removed_status IS NOT NULL AND NEW.removed_status IS NULL THEN
            PERFORM note_event(NEW, 'link.restored', NULL);
        ELSIF NEW.removed_status IS DISTINCT FROM OLD.removed_status THEN
            PERFORM note_event(NEW, 'link.removed', NULL);
        ELSIF (NEW.short_code, NEW.target_url, NEW.title, NEW.tags, NEW.forward_query, NEW.note, NEW.noindex, NEW.is_active, NEW.expires_at,
                NEW.max_clicks, NEW.starts_at, NEW.fallback_url, NEW.pool, NEW.password_hash, NEW.rules, NEW.aliases)
            IS DISTINCT FROM (OLD.short_code, OLD.target_url, OLD.title, OLD.tags, OLD.forward_query, OLD.note, OLD.noindex, OLD.is_active,
                OLD.expires_at, OLD.max_clicks, OLD.starts_at, OLD.fallback_url, OLD.pool, OLD.password_hash, OLD.rules, OLD.aliases) THEN
            PERFORM note_event(NEW, 'link.changed', NULL);
        END IF;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER link_made_happened AFTER INSERT ON links
    FOR EACH ROW WHEN (NEW.alias_of IS NULL) EXECUTE FUNCTION link_happened();
CREATE TRIGGER link_changed_happened AFTER UPDATE ON links
    FOR EACH ROW WHEN (NEW.alias_of IS NULL) EXECUTE FUNCTION link_happened();
CREATE TRIGGER link_deleted_happened AFTER DELETE ON links
    FOR EACH ROW WHEN (OLD.alias_of IS NULL) EXECUTE FUNCTION link_happened();

-- The last click of a link with a limit.
CREATE FUNCTION link_limit_reached() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM note_event(links, 'link.ended', NULL) FROM links
    WHERE id = NEW.link_id AND trashed_at = 0 AND max_clicks <= NEW.clicks_before + NEW.granted
        AND max_clicks > coalesce(OLD.clicks_before, 0) + OLD.granted;
    RETURN NULL;
END
$$;
CREATE TRIGGER link_limit_reached AFTER UPDATE OF clicks_before, granted ON link_limits
    FOR EACH ROW EXECUTE FUNCTION link_limit_reached();

-- # Hooks

-- Receivers of events. `types` and `tags` are JSON arrays; without tags, events of all links are sent. All that happened up to
-- `read_step` and `read_index` has its deliveries. An instance works a hook off while it has the lease.
CREATE TABLE hooks (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner_id         bigint  NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    url              text    NOT NULL,
    types            text    NOT NULL,
    tags             text    NOT NULL,
    secret           bytea   NOT NULL,
    -- The secret before, which signs, too, until then.
    old_secret       bytea,
    old_secret_until bigint  NOT NULL DEFAULT 0,
    created_at       bigint  NOT NULL,
    is_active        boolean NOT NULL DEFAULT true,
    read_step        bigint  NOT NULL,
    read_index       bigint  NOT NULL,
    -- Deliveries that are not done.
    waiting          bigint  NOT NULL DEFAULT 0,
    -- Rounds in a row in which no delivery was taken, the moment of the next one, and what the receiver answered last.
    failures         bigint  NOT NULL DEFAULT 0,
    failing_since    bigint,
    retry_at         bigint  NOT NULL DEFAULT 0,
    last_error       text,
    lease_holder     text    NOT NULL DEFAULT '',
    lease_until      bigint  NOT NULL DEFAULT 0
)
WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX hooks_by_owner ON hooks (owner_id, id);

-- Events for the receiver of a hook. `next_at` is the moment of the next attempt; a delivery that is done, or waits for an earlier one of
-- its link, has none. Of what is done the body is not kept.
CREATE TABLE hook_deliveries (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hook_id       bigint NOT NULL REFERENCES hooks (id) ON DELETE CASCADE,
    event_id      text   NOT NULL,
    type          text   NOT NULL,
    link          text   NOT NULL,
    body          text   NOT NULL,
    made_at       bigint NOT NULL,
    next_at       bigint,
    attempts      bigint NOT NULL DEFAULT 0,
    failing_since bigint,
    done_at       bigint,
    status        bigint,
    error         text
)
WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX hook_deliveries_by_hook ON hook_deliveries (hook_id, id);
CREATE INDEX hook_deliveries_due ON hook_deliveries (hook_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX hook_deliveries_by_link ON hook_deliveries (hook_id, link, id) WHERE done_at IS NULL;
CREATE INDEX hook_deliveries_oldest ON hook_deliveries (made_at) WHERE next_at IS NOT NULL;
CREATE INDEX hook_deliveries_done ON hook_deliveries (done_at) WHERE done_at IS NOT NULL;

-- Links with so many waiting deliveries that their further events stay in the feed: those after `read_step` and `read_index` are put in
-- line when the receiver took the others.
CREATE TABLE hook_held_links (
    hook_id    bigint NOT NULL REFERENCES hooks (id) ON DELETE CASCADE,
    link       text NOT NULL,
    read_step  bigint NOT NULL,
    read_index bigint NOT NULL,
    PRIMARY KEY (hook_id, link)
);

-- # Statements

-- Statements of months, as they were answered: a statement never changes once it is issued. A link has one for each month from the month
-- in which it was made, without a gap, in each zone that was asked for.
CREATE TABLE statements (
    link_id  bigint NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    -- The zone, by its name.
    tz       text   NOT NULL,
    -- As 2026-10.
    month    text   NOT NULL,
    document text   NOT NULL,
    PRIMARY KEY (link_id, tz, month)
);

-- The public keys of all statements, also of deleted links: they stay published.
CREATE TABLE statement_keys (
    public_key bytea  PRIMARY KEY,
    -- When it signed the first one.
    since      bigint NOT NULL
);
