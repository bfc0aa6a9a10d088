-- Sums over all links of an account: clicks by the quarter of an hour, as in link_series and links, and those of known bots among
-- them, as in link_bots. The transaction that counts clicks adds to them.
CREATE TABLE owner_series (
    owner_id INTEGER NOT NULL,
    quarter  INTEGER NOT NULL,
    clicks   INTEGER NOT NULL,
    bots     INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (owner_id, quarter)
) STRICT, WITHOUT ROWID;

-- The accounts whose sums have all of their clicks. Those of others are made by a job, or read by link.
CREATE TABLE owner_series_whole (owner_id INTEGER PRIMARY KEY) STRICT;

CREATE TRIGGER owner_series_begin AFTER INSERT ON users
BEGIN
    INSERT INTO owner_series_whole (owner_id) VALUES (new.id);
END;
CREATE TRIGGER owner_series_end AFTER DELETE ON users
BEGIN
    DELETE FROM owner_series WHERE owner_id = old.id;
    DELETE FROM owner_series_whole WHERE owner_id = old.id;
END;

-- Changes with every addition that is in the sums, too.
ALTER TABLE links ADD COLUMN owner_writes INTEGER NOT NULL DEFAULT 0;

-- What a process of the version before adds is not.
CREATE TRIGGER owner_series_unknown AFTER UPDATE OF clicks ON links
WHEN new.clicks <> old.clicks AND new.owner_writes = old.owner_writes
BEGIN
    DELETE FROM owner_series_whole WHERE owner_id = new.owner_id;
END;

-- Counts with which links are made.
CREATE TRIGGER owner_series_made AFTER INSERT ON links WHEN new.clicks > 0
BEGIN
    INSERT INTO owner_series (owner_id, quarter, clicks)
    SELECT new.owner_id, CASE new.quarter WHEN 0 THEN max(new.created_at / 900000000, 1) ELSE new.quarter END, new.clicks
    FROM owner_series_whole WHERE owner_id = new.owner_id
    ON CONFLICT (owner_id, quarter) DO UPDATE SET clicks = clicks + excluded.clicks;
END;

-- A link that is deleted leaves the sums with all of its clicks, before the trigger that removes its series.
CREATE TRIGGER owner_series_less BEFORE DELETE ON links WHEN old.clicks > 0
BEGIN
    INSERT INTO owner_series (owner_id, quarter, clicks)
    SELECT old.owner_id, link_series.quarter, -link_series.clicks
    FROM link_series JOIN owner_series_whole ON owner_id = old.owner_id WHERE link_id = old.id
    ON CONFLICT (owner_id, quarter) DO UPDATE SET clicks = clicks + excluded.clicks;
    INSERT INTO owner_series (owner_id, quarter, clicks)
    SELECT old.owner_id, CASE old.quarter WHEN 0 THEN max(old.created_at / 900000000, 1) ELSE old.quarter END,
        -CASE old.quarter WHEN 0 THEN old.clicks ELSE old.in_quarter END
    FROM owner_series_whole WHERE owner_id = old.owner_id
    ON CONFLICT (owner_id, quarter) DO UPDATE SET clicks = clicks + excluded.clicks;
    INSERT INTO owner_series (owner_id, quarter, clicks, bots)
    SELECT old.owner_id, link_bots.quarter, 0, -link_bots.clicks
    FROM link_bots JOIN owner_series_whole ON owner_id = old.owner_id WHERE link_id = old.id
    ON CONFLICT (owner_id, quarter) DO UPDATE SET bots = bots + excluded.bots;
END;

CREATE TRIGGER owner_bots_begin AFTER INSERT ON link_bots
BEGIN
    INSERT INTO owner_series (owner_id, quarter, clicks, bots)
    SELECT owner_id, new.quarter, 0, new.clicks FROM links JOIN owner_series_whole USING (owner_id) WHERE links.id = new.link_id
    ON CONFLICT (owner_id, quarter) DO UPDATE SET bots = bots + excluded.bots;
END;
CREATE TRIGGER owner_bots_more AFTER UPDATE OF clicks ON link_bots
BEGIN
    INSERT INTO owner_series (owner_id, quarter, clicks, bots)
    SELECT owner_id, new.quarter, 0, new.clicks - old.clicks FROM links JOIN owner_series_whole USING (owner_id)
    WHERE links.id = new.link_id
    ON CONFLICT (owner_id, quarter) DO UPDATE SET bots = bots + excluded.bots;
END;
