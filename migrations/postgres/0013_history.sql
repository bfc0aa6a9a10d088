-- One line of states of this database. A new history begins where the database may have gone back: a standby that lagged took
-- over, or a backup was restored. Then links that are cached may be gone, and ids that were given out would come again.
CREATE TABLE database_history (
    only_one   boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    id         text NOT NULL,
    -- System identifier and timeline of the server that it was last checked on; empty before the first check.
    server     text NOT NULL DEFAULT '',
    -- When that server was started. On a server that was started at another time no id is given out before a check.
    checked_on timestamptz NOT NULL DEFAULT '-infinity'
);
INSERT INTO database_history (id) VALUES (md5(random()::text || random()::text || clock_timestamp()::text));

-- Where this server is. One that does not say is told apart from others by the time of its start.
CREATE FUNCTION server_position(OUT server text, OUT bytes bigint) LANGUAGE plpgsql AS $$
BEGIN
    server := (pg_control_system()).system_identifier || '/' || left(pg_walfile_name(pg_current_wal_flush_lsn()), 8);
    bytes := pg_current_wal_flush_lsn() - '0/0'::pg_lsn;
EXCEPTION WHEN insufficient_privilege OR feature_not_supported OR undefined_function THEN
    server := 'started at ' || extract(epoch FROM pg_postmaster_start_time());
    bytes := 0;
END
$$;

-- Lifts the ids that are given out next above all that may have been given out. With the rights of the owner: an ordinary
-- role may use the sequences of identity columns, but not set them.
CREATE FUNCTION lift_ids(link bigint, account bigint, gap bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT setval('links_id_seq', greatest(link, (SELECT last_value FROM links_id_seq)) + gap),
           setval('users_id_seq', greatest(account, (SELECT last_value FROM users_id_seq)) + gap),
           setval('link_changes_number_seq', (SELECT last_value FROM link_changes_number_seq) + gap);
$$;
