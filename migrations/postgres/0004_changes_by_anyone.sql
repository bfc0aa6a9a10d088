-- Whoever changes or deletes a link, also by hand, tells every instance through the outbox. The code of a deleted
-- link is retired, whoever deleted it or its owner. Its row in link_clicks is left: taken away in the order of deletion
-- it would lock flushes out, which go by rising id.
CREATE FUNCTION link_changed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO link_changes (short_code) VALUES (OLD.short_code);
    IF TG_OP = 'DELETE' THEN
        INSERT INTO retired_codes (short_code, retired_at) VALUES (OLD.short_code, now()) ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER links_changed AFTER UPDATE OF short_code, target_url, is_active OR DELETE ON links
    FOR EACH ROW EXECUTE FUNCTION link_changed();
