-- How many rows of classes by quarter of an hour were new on each day (UTC). `at` is its first quarter.
CREATE TABLE click_detail_growth (
    at       integer PRIMARY KEY,
    new_rows bigint NOT NULL
);

-- Classes of which nothing is known but whether it was a known bot: those of clicks for whose class there is no room.
INSERT INTO click_classes (referrer, country, browser, os, device, bot)
VALUES ('', '', '', '', '', ''), ('', '', '', '', '', 'true'), ('', '', '', '', '', 'false') ON CONFLICT DO NOTHING;

-- Up to which row the queue was summed: it says how many wait, without a look at rows that are gone and not removed yet.
CREATE TABLE click_detail_state (
    only_row     boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    summed_up_to bigint NOT NULL
);
INSERT INTO click_detail_state (summed_up_to)
SELECT coalesce((SELECT min(id) - 1 FROM click_detail_queue), (SELECT last_value FROM click_detail_queue_id_seq));

-- How many rows the queue had no room for; a sequence, as writers do not wait for each other there.
CREATE SEQUENCE click_details_dropped;

-- The queue takes no more than 100,000 rows, and large ones only while it is short. The clicks are counted all the same.
CREATE FUNCTION click_detail_room() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    most    bigint := CASE WHEN octet_length(NEW.details) > 65536 THEN 2000 ELSE 100000 END;
    waiting bigint := NEW.id - (SELECT summed_up_to FROM click_detail_state);
BEGIN
    IF waiting > most THEN
        -- Rows that were refused have numbers, too.
        waiting := NEW.id - coalesce((SELECT min(id) FROM click_detail_queue), NEW.id);
        IF waiting >= most THEN
            PERFORM nextval('click_details_dropped');
            RETURN NULL;
        END IF;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER click_detail_room BEFORE INSERT ON click_detail_queue FOR EACH ROW EXECUTE FUNCTION click_detail_room();

CREATE FUNCTION click_details_summed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE click_detail_state SET summed_up_to = newest
    FROM (SELECT max(id) AS newest FROM summed) AS part WHERE newest > summed_up_to;
    RETURN NULL;
END
$$;
CREATE TRIGGER click_details_summed AFTER DELETE ON click_detail_queue REFERENCING OLD TABLE AS summed
    FOR EACH STATEMENT EXECUTE FUNCTION click_details_summed();
