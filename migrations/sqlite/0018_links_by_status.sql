-- Links of the rarer statuses, in the order of an owner's list.
CREATE INDEX inactive_links ON links (owner_id, created_at DESC, id DESC) WHERE NOT is_active;
CREATE INDEX ending_links ON links (owner_id, created_at DESC, id DESC) WHERE expires_at IS NOT NULL;
CREATE INDEX limited_links ON links (owner_id, created_at DESC, id DESC) WHERE max_clicks IS NOT NULL;
