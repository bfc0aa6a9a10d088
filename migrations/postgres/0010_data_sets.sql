-- The ledger: one row for the lifetime of each data set of Redis. A term is a fencing token: it rises when a server is
-- taken into use, and a flush is written only under the term that is in the row.
CREATE SEQUENCE terms;

CREATE TABLE data_sets (
    epoch          text        PRIMARY KEY,
    -- What the data set's keys begin with. Of all rows with a tag, the one with the highest term is in use.
    tag            text        NOT NULL,
    term           bigint      NOT NULL UNIQUE,
    -- Of the server that the term is for.
    replication_id text        NOT NULL,
    -- The newest flush, and up to which link it is written.
    flush          bigint      NOT NULL DEFAULT 0,
    up_to          bigint      NOT NULL DEFAULT 0,
    began_at       timestamptz NOT NULL DEFAULT now(),
    -- Set once another data set has taken its place: until then, its instances may still write its clicks back.
    drains_until   timestamptz
)
-- Room in its page for the updates of every flush.
WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

CREATE INDEX data_sets_newest ON data_sets (tag, term);

-- Instances of the version before keep their ledger in flush_ledger, and may run beside newer ones. What either writes is
-- noted in the other's table in the same transaction. A later release removes flush_ledger, both triggers and their
-- functions.
CREATE FUNCTION note_flush_of_former_version() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE data_sets SET flush = NEW.number, up_to = NEW.up_to
    WHERE epoch = NEW.epoch AND (flush < NEW.number OR flush = NEW.number AND up_to < NEW.up_to);
    RETURN NULL;
END
$$;

CREATE TRIGGER flush_of_former_version AFTER INSERT OR UPDATE ON flush_ledger
    FOR EACH ROW WHEN (NEW.up_to > 0 AND pg_trigger_depth() = 0) EXECUTE FUNCTION note_flush_of_former_version();

-- The version before asks for the newest flushes alone.
CREATE FUNCTION note_flush_for_former_version() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO flush_ledger (epoch, number, up_to, applied_at) VALUES (NEW.epoch, NEW.flush, NEW.up_to, now())
    ON CONFLICT (epoch, number) DO UPDATE SET up_to = excluded.up_to;
    DELETE FROM flush_ledger WHERE epoch = NEW.epoch AND number = NEW.flush - 10;
    RETURN NULL;
END
$$;

CREATE TRIGGER flush_for_former_version AFTER UPDATE OF flush, up_to ON data_sets
    FOR EACH ROW WHEN (NEW.up_to > 0 AND pg_trigger_depth() = 0) EXECUTE FUNCTION note_flush_for_former_version();
