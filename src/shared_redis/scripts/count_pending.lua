-- Counts the links with clicks in Redis: pending ones, and those of flushes under way.
-- KEYS: state, pending, flushing. ARGV: prefix of flush keys.
local data_set, pending, flushing = unpack(KEYS)
local flush_prefix = ARGV[1]

local epoch = redis.call('HGET', data_set, 'epoch') or ''
local links = redis.call('HLEN', pending)
for _, number in ipairs(redis.call('SMEMBERS', flushing)) do
  links = links + redis.call('HLEN', flush_prefix .. epoch .. ':' .. number)
end
return links
