-- Accounts that were deleted and whose links are not all removed yet. Their links are unknown from the start; a background job
-- removes them in batches, and the account's row, which keeps nothing but its id, at the end. An instance of the version before
-- follows such a link until it is removed.
CREATE TABLE deleted_users (
    user_id    bigint PRIMARY KEY,
    deleted_at timestamptz NOT NULL
);
