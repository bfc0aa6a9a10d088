-- Caches a link that was read from the database, unless any link changed since before the read: it may be this one.
-- KEYS: state, link. ARGV: newest change before the read, link, expiry in seconds.
local data_set, key = unpack(KEYS)
local change_before, link, expiry = unpack(ARGV)

if (redis.call('HGET', data_set, 'change') or '') == change_before then
  redis.call('SET', key, link, 'EX', expiry)
end
return true
