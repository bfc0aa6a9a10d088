-- The epoch of the Redis data set that a held batch may be in.
ALTER TABLE click_journal ADD COLUMN epoch text;
