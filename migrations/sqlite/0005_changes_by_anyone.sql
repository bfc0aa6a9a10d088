-- Whoever changes or deletes a link, also by hand, tells the service through the outbox. The code of a deleted link
-- is retired, whoever deleted it or its owner.
CREATE TRIGGER link_changed AFTER UPDATE OF short_code, target_url, is_active ON links
BEGIN
    INSERT INTO link_changes (short_code) VALUES (old.short_code);
END;

CREATE TRIGGER link_deleted AFTER DELETE ON links
BEGIN
    INSERT INTO link_changes (short_code) VALUES (old.short_code);
    INSERT OR IGNORE INTO retired_codes (short_code, retired_at) VALUES (old.short_code, CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
END;
