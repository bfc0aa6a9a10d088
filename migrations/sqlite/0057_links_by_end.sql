-- Links of an owner in the order in which they end.
CREATE INDEX links_by_end ON links (owner_id, expires_at, id) WHERE expires_at IS NOT NULL;
