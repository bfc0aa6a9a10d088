-- How many rows of classes by quarter of an hour were new on each day (UTC). `at` is its first quarter.
CREATE TABLE click_detail_growth (
    at       INTEGER PRIMARY KEY,
    new_rows INTEGER NOT NULL
) STRICT;

-- Classes of which nothing is known but whether it was a known bot: those of clicks for whose class there is no room.
INSERT INTO click_classes (referrer, country, browser, os, device, bot)
VALUES ('', '', '', '', '', ''), ('', '', '', '', '', 'true'), ('', '', '', '', '', 'false') ON CONFLICT DO NOTHING;

-- How many rows the queue had no room for.
CREATE TABLE click_details_dropped (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    rows     INTEGER NOT NULL
) STRICT;
INSERT INTO click_details_dropped (only_row, rows) VALUES (1, 0);

-- The queue takes no more than 100,000 rows, and large ones only while it is short. The clicks are counted all the same.
CREATE TRIGGER click_detail_room BEFORE INSERT ON click_detail_queue
WHEN (SELECT max(id) FROM click_detail_queue) - (SELECT min(id) FROM click_detail_queue)
    >= CASE WHEN length(new.details) > 65536 THEN 2000 ELSE 100000 END
BEGIN
    UPDATE click_details_dropped SET rows = rows + 1;
    SELECT RAISE(IGNORE);
END;
