-- Removes changed links from the cache, and announces their changes to every instance.
-- KEYS: state, changes, links. ARGV: term, then the links' codes.
-- Returns the number of the last of these changes.
local changes = KEYS[2]

redis.call('UNLINK', unpack(KEYS, 3))
for _, code in ipairs({ unpack(ARGV, 2) }) do
  change = redis.call('HINCRBY', data_set, 'change', 1)
  redis.call('XADD', changes, 'MAXLEN', '~', 10000, string.format('%d-0', change), 'code', code)
end
return string.format('%d', change)
