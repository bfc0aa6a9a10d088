-- Removes a flush that is written to the database.
-- KEYS: state, flushing, the flush, intervals. ARGV: term, number.
local flushing, batch, intervals = unpack(KEYS, 2)
local number = ARGV[2]

redis.call('SREM', flushing, number)
redis.call('UNLINK', batch)
redis.call('HDEL', intervals, number)
return true
