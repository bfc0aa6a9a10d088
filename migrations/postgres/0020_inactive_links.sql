-- Inactive links of an owner, in the order of the list.
-- runs: concurrently, index inactive_links
CREATE INDEX CONCURRENTLY inactive_links ON links (owner_id, created_at DESC, id DESC) WHERE NOT is_active;
