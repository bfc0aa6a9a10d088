-- What grew for ever: changes of links where no instance has Redis, and clicks of links that went with their account.

-- Instances without Redis read the changes here, too, so a published change stays for a while. Changes are committed in
-- another order than they are numbered: a reader asks for those of transactions that its last snapshot did not show.
ALTER TABLE link_changes
    ADD COLUMN changed_in bigint NOT NULL DEFAULT txid_current(),
    ADD COLUMN changed_at timestamptz NOT NULL DEFAULT now(),
    -- When an instance published it in Redis.
    ADD COLUMN published_at timestamptz;
CREATE INDEX link_changes_changed_in ON link_changes (changed_in);
CREATE INDEX link_changes_unpublished ON link_changes (number) WHERE published_at IS NULL;

-- Deleted links that may have clicks in link_clicks. A background job removes those by rising id, in small batches that wait
-- for no flush. A flush that saw the link just before may write its row once more, so each link is looked at again a
-- minute after it was looked at first.
CREATE TABLE deleted_links (
    link_id    bigint PRIMARY KEY,
    recheck_at timestamptz
);

CREATE OR REPLACE FUNCTION link_changed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO link_changes (short_code) VALUES (OLD.short_code);
    IF TG_OP = 'DELETE' THEN
        INSERT INTO retired_codes (short_code, retired_at) VALUES (OLD.short_code, now()) ON CONFLICT DO NOTHING;
        INSERT INTO deleted_links (link_id) VALUES (OLD.id) ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END
$$;
