-- How many links each account has, so that a quota needs no count. Triggers keep it: instances of the version before, and
-- statements by hand, are counted, too. Existing links are counted here, once; meanwhile no link is made or deleted.
CREATE TABLE link_totals (
    owner_id bigint PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    links    bigint NOT NULL
) WITH (fillfactor = 50);

CREATE FUNCTION link_totals_begin() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO link_totals (owner_id, links) VALUES (NEW.id, 0);
    RETURN NULL;
END
$$;

CREATE FUNCTION link_totals_add() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    -- In order, so that two statements for several owners do not wait for each other.
    PERFORM FROM link_totals WHERE owner_id IN (SELECT owner_id FROM made) ORDER BY owner_id FOR UPDATE;
    UPDATE link_totals SET links = links + (SELECT count(*) FROM made WHERE made.owner_id = link_totals.owner_id)
    WHERE owner_id IN (SELECT owner_id FROM made);
    RETURN NULL;
END
$$;

CREATE FUNCTION link_totals_subtract() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM FROM link_totals WHERE owner_id IN (SELECT owner_id FROM gone) ORDER BY owner_id FOR UPDATE;
    UPDATE link_totals SET links = links - (SELECT count(*) FROM gone WHERE gone.owner_id = link_totals.owner_id)
    WHERE owner_id IN (SELECT owner_id FROM gone);
    RETURN NULL;
END
$$;

LOCK TABLE users, links IN SHARE ROW EXCLUSIVE MODE;
INSERT INTO link_totals (owner_id, links) SELECT id, 0 FROM users;
UPDATE link_totals SET links = counted.links
FROM (SELECT owner_id, count(*) AS links FROM links GROUP BY owner_id) AS counted
WHERE link_totals.owner_id = counted.owner_id;

CREATE TRIGGER link_totals_begin AFTER INSERT ON users FOR EACH ROW EXECUTE FUNCTION link_totals_begin();
CREATE TRIGGER link_totals_add AFTER INSERT ON links REFERENCING NEW TABLE AS made
    FOR EACH STATEMENT EXECUTE FUNCTION link_totals_add();
CREATE TRIGGER link_totals_subtract AFTER DELETE ON links REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION link_totals_subtract();
