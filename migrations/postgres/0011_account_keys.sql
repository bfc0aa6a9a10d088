-- Names an account in its tokens beside the id: an id comes again where the database is restored from a backup, and the
-- token of the account that had it must not be the next one's. Another key ends all tokens of an account:
-- UPDATE users SET token_key = DEFAULT WHERE id = …
--
-- The default serves accounts that are there already, and those of instances of the version before. The service draws the
-- keys of its own accounts.
ALTER TABLE users ADD COLUMN token_key bytea NOT NULL
    DEFAULT decode(md5(random()::text || random()::text || clock_timestamp()::text), 'hex');
