-- Removes changed links from the cache, and announces their changes to every instance.
-- KEYS: state, changes, links. ARGV from 3: the links' codes.
-- Returns the epoch and the number of the last of these changes.
local data_set, changes = KEYS[1], KEYS[2]

local epoch = state(data_set)[1]
redis.call('UNLINK', unpack(KEYS, 3))
local number
for _, code in ipairs({ unpack(ARGV, 3) }) do
  number = redis.call('HINCRBY', data_set, 'change', 1)
  redis.call('XADD', changes, 'MAXLEN', '~', 10000, string.format('%d-0', number), 'code', code)
end
return { epoch, string.format('%d', number) }
