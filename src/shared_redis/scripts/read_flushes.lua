-- Reads which clicks are in Redis, without the clicks themselves.
-- KEYS: state, intervals, flushing. ARGV: term.
-- Returns the newest flush, the numbers of the flushes under way, then the interval of the pending clicks and of each flush,
-- where it is noted.
local intervals, flushing = unpack(KEYS, 2)
local under_way = redis.call('SMEMBERS', flushing)
return { newest_flush, under_way, redis.call('HMGET', intervals, newest_flush + 1, unpack(under_way)) }
