-- Accounts that were deleted and whose links are not all removed yet. Their links are unknown from the start; a background job
-- removes them in batches, and the account's row, which keeps nothing but its id, at the end.
CREATE TABLE deleted_users (
    user_id    INTEGER PRIMARY KEY,
    deleted_at INTEGER NOT NULL
) STRICT;
