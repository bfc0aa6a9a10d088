-- Adds to a counter of a rate limit. It expires after its minute, and another one for clocks that differ.
-- KEYS: the counter. ARGV: how much to add.
-- Returns the sum.
local counter, more = KEYS[1], ARGV[1]

local count = redis.call('INCRBY', counter, more)
redis.call('EXPIRE', counter, 120)
return count
