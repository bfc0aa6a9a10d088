-- The unique name of the newest flush: its number comes again where a data set of Redis went back unnoticed. Empty where an
-- instance of the version before wrote it, which knows no names.
ALTER TABLE data_sets ADD COLUMN flush_name TEXT NOT NULL DEFAULT '';
