-- Drops the cached links from the memory of every instance: some may have changed unnoticed.
-- KEYS: state, changes. ARGV: process, now.
-- Returns the epoch and the number of the newest link change.
local data_set, changes = KEYS[1], KEYS[2]

-- Past what an instance catches up with one by one, so that it clears its cache.
local epoch = state(data_set)[1]
redis.call('UNLINK', changes)
return { epoch, string.format('%d', redis.call('HINCRBY', data_set, 'change', 1000000)) }
