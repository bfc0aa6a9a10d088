-- Caches a link that was read from the database, unless any link changed since before it was read:
-- it might be the one.
-- KEYS: state, link. ARGV: newest change before the read, link, expiry in seconds.
if (redis.call('HGET', KEYS[1], 'change') or '') == ARGV[1] then
  redis.call('SET', KEYS[2], ARGV[2], 'EX', ARGV[3])
end
return true
