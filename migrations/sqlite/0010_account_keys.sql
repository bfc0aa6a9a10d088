-- Names an account in its tokens beside the id: an id comes again where the file is restored from a copy, and the token of
-- the account that had it must not be the next one's. Another key ends all tokens of an account:
-- UPDATE users SET token_key = randomblob(16) WHERE id = …
--
-- A column that is added has a constant default, which is no key.
ALTER TABLE users ADD COLUMN token_key BLOB NOT NULL DEFAULT x'';
UPDATE users SET token_key = randomblob(16);

-- Accounts that are made by hand, or by an older version.
CREATE TRIGGER user_without_token_key AFTER INSERT ON users WHEN new.token_key = x''
BEGIN
    UPDATE users SET token_key = randomblob(16) WHERE id = new.id;
END;
