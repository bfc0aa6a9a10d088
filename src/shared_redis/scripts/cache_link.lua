-- Caches a link that was read from the database, unless any link changed since before the read: it may be this one.
-- KEYS: state, link. ARGV: newest change and generation before the read, link, expiry in seconds.
local data_set, key = unpack(KEYS)
local change_before, generation, link, expiry = unpack(ARGV)

local known = redis.call('HMGET', data_set, 'change', 'generation')
if known[1] == change_before and known[2] == generation then
  redis.call('SET', key, link, 'EX', expiry)
end
return true
