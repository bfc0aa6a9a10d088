-- Makes every cached link a miss, in Redis and in the memory of every instance: some may have changed unnoticed.
-- KEYS: state, changes. ARGV: term, now.
-- Returns the number of the newest link change.
local changes = KEYS[2]
local now = ARGV[2]

-- Past what an instance catches up with one by one, so that it clears its cache.
change = string.format('%d', math.max(tonumber(now), tonumber(change) + 1000000))
redis.call('UNLINK', changes)
redis.call('HSET', data_set, 'change', change, 'generation', used_in .. '.' .. now)
return change
