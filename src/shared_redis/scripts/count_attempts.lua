-- Adds to a counter of a rate limit. It expires some time after its window, for clocks that differ.
-- KEYS: the counter. ARGV: how much to add, seconds until it expires.
-- Returns the sum.
local counter, more, seconds = KEYS[1], ARGV[1], ARGV[2]

local count = redis.call('INCRBY', counter, more)
redis.call('EXPIRE', counter, seconds)
return count
