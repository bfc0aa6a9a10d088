-- Clicks by the quarter of an hour (UTC) in which they were recorded: quarters since 1970 began. The newest quarter of a link
-- stands in links, so that a flush writes the one row that it wrote before; the sum of an older one is here. 0 is the quarter
-- of clicks from before there were any, and of a count with which a link was made: they belong to the one in which the link
-- was made.
CREATE TABLE link_series (
    link_id INTEGER NOT NULL,
    quarter INTEGER NOT NULL,
    clicks  INTEGER NOT NULL CHECK (clicks >= 0),
    PRIMARY KEY (link_id, quarter)
) STRICT, WITHOUT ROWID;

ALTER TABLE links ADD COLUMN quarter INTEGER NOT NULL DEFAULT 0;
ALTER TABLE links ADD COLUMN in_quarter INTEGER NOT NULL DEFAULT 0;
-- Changes with every addition to an older quarter, which changes nothing else here but the count.
ALTER TABLE links ADD COLUMN late_writes INTEGER NOT NULL DEFAULT 0;

-- NULL in a batch of the version before.
ALTER TABLE click_journal ADD COLUMN quarter INTEGER;

CREATE TRIGGER link_quarter_ends AFTER UPDATE OF quarter ON links
WHEN new.quarter <> old.quarter AND CASE old.quarter WHEN 0 THEN old.clicks ELSE old.in_quarter END > 0
BEGIN
    INSERT INTO link_series (link_id, quarter, clicks) VALUES (
        old.id,
        CASE old.quarter WHEN 0 THEN max(old.created_at / 900000000, 1) ELSE old.quarter END,
        CASE old.quarter WHEN 0 THEN old.clicks ELSE old.in_quarter END)
    ON CONFLICT (link_id, quarter) DO UPDATE SET clicks = clicks + excluded.clicks;
END;

-- An update that knows of no quarters, that of a process of the version before: its clicks belong to the newest quarter there
-- is. Where there is none yet, the count is that of the link's first quarter as it is.
CREATE TRIGGER link_clicked_by_former_version AFTER UPDATE OF clicks ON links
WHEN new.clicks <> old.clicks AND new.quarter = old.quarter AND new.quarter > 0
    AND new.in_quarter = old.in_quarter AND new.late_writes = old.late_writes
BEGIN
    UPDATE links SET in_quarter = in_quarter + new.clicks - old.clicks WHERE id = new.id;
END;

CREATE TRIGGER link_series_ends AFTER DELETE ON links
BEGIN
    DELETE FROM link_series WHERE link_id = old.id;
END;
