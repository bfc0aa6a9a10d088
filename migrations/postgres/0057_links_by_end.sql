-- Links of an owner in the order in which they end.
-- runs: concurrently, index links_by_end
CREATE INDEX CONCURRENTLY links_by_end ON links (owner_id, expires_at, id) WHERE expires_at IS NOT NULL;
