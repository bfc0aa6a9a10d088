-- Names an account in its tokens beside the id: an id comes again where the database is restored from a backup, and the
-- token of the account that had it must not be the next one's. Another key ends all tokens of an account:
-- UPDATE users SET token_key = DEFAULT WHERE id = …
--
-- The default serves accounts of instances of the version before, and those made by hand. The service draws the keys of its
-- own accounts. It is set apart from the column, which would be written in all rows at once otherwise.
ALTER TABLE users ADD COLUMN token_key bytea;
ALTER TABLE users ALTER COLUMN token_key
    SET DEFAULT decode(md5(random()::text || random()::text || clock_timestamp()::text), 'hex');
