-- How many ids of links were left out where the database may have gone back. All others are of links that were made, and
-- their codes are in use.
ALTER TABLE database_history ADD COLUMN link_ids_left_out bigint NOT NULL DEFAULT 0;

CREATE OR REPLACE FUNCTION lift_ids(link bigint, account bigint, gap bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
    UPDATE database_history SET link_ids_left_out =
        link_ids_left_out + greatest(link - (SELECT last_value FROM links_id_seq), 0) + gap;
    SELECT setval('links_id_seq', greatest(link, (SELECT last_value FROM links_id_seq)) + gap),
           setval('users_id_seq', greatest(account, (SELECT last_value FROM users_id_seq)) + gap),
           setval('link_changes_number_seq', (SELECT last_value FROM link_changes_number_seq) + gap);
$$;
