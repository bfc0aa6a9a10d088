-- Whose a deleted link was is noted with its code before the link goes: triggers after a deletion run in no certain order.
CREATE TRIGGER link_retired_by_owner BEFORE DELETE ON links
BEGIN
    INSERT INTO retired_codes (short_code, retired_at, owner_id)
    VALUES (old.short_code, CAST(strftime('%s', 'now') AS INTEGER) * 1000000, old.owner_id)
    ON CONFLICT (short_code) DO UPDATE SET retired_at = excluded.retired_at, owner_id = excluded.owner_id;
END;
