-- Links of an owner with a limit of clicks, in the order of the list.
-- runs: concurrently, index limited_links
CREATE INDEX CONCURRENTLY limited_links ON links (owner_id, created_at DESC, id DESC) WHERE max_clicks IS NOT NULL;
