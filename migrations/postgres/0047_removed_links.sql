-- Removed links of an owner, in the order of the list.
-- runs: concurrently, index removed_links
CREATE INDEX CONCURRENTLY removed_links ON links (owner_id, created_at DESC, id DESC) WHERE removed_status IS NOT NULL;
