-- How many links each account has, so that a quota needs no count. Triggers keep it, and existing links are counted here,
-- once.
CREATE TABLE link_totals (
    owner_id INTEGER PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    links    INTEGER NOT NULL
) STRICT;
INSERT INTO link_totals (owner_id, links)
SELECT id, (SELECT count(*) FROM links WHERE owner_id = users.id) FROM users;

CREATE TRIGGER link_totals_begin AFTER INSERT ON users BEGIN
    INSERT INTO link_totals (owner_id, links) VALUES (NEW.id, 0);
END;
CREATE TRIGGER link_totals_add AFTER INSERT ON links BEGIN
    UPDATE link_totals SET links = links + 1 WHERE owner_id = NEW.owner_id;
END;
CREATE TRIGGER link_totals_subtract AFTER DELETE ON links BEGIN
    UPDATE link_totals SET links = links - 1 WHERE owner_id = OLD.owner_id;
END;
