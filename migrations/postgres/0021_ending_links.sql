-- Links of an owner that end at a moment, in the order of the list.
-- runs: concurrently, index ending_links
CREATE INDEX CONCURRENTLY ending_links ON links (owner_id, created_at DESC, id DESC) WHERE expires_at IS NOT NULL;
