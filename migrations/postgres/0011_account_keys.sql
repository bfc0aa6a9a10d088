-- Keys of accounts that were there before accounts had keys.
-- runs: in batches
UPDATE users SET token_key = DEFAULT WHERE id IN (SELECT id FROM users WHERE token_key IS NULL LIMIT 10000);
