-- The addresses that logged in to each account, as hashes: failed log-ins of strangers do not lock them out.
CREATE TABLE known_addresses (
    user_id   bigint      NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    address   bigint      NOT NULL,
    last_used timestamptz NOT NULL,
    PRIMARY KEY (user_id, address)
);
