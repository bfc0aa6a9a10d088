-- Links that were deleted before there was deleted_links, and whose clicks are still there.
-- runs: in batches
INSERT INTO deleted_links (link_id)
SELECT link_id FROM link_clicks
WHERE NOT EXISTS (SELECT FROM links WHERE links.id = link_clicks.link_id)
  AND NOT EXISTS (SELECT FROM deleted_links WHERE deleted_links.link_id = link_clicks.link_id)
LIMIT 50000
ON CONFLICT DO NOTHING;
