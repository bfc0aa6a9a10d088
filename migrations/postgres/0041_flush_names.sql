-- The unique name of the newest flush: its number comes again where a data set of Redis went back unnoticed. Empty where an
-- instance of the version before wrote it, which knows no names.
ALTER TABLE data_sets ADD COLUMN flush_name text NOT NULL DEFAULT '';

CREATE FUNCTION flush_without_name() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.flush_name := '';
    RETURN NEW;
END
$$;

CREATE TRIGGER flush_without_name BEFORE UPDATE ON data_sets FOR EACH ROW
    WHEN (NEW.flush <> OLD.flush AND NEW.flush_name = OLD.flush_name) EXECUTE FUNCTION flush_without_name();
