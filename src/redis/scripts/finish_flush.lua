-- Removes a flush that is written to the database.
-- KEYS: state, flushing, the flush, intervals, details, the list of its classes. ARGV: term, number.
local flushing, batch, intervals, details, of_flush = unpack(KEYS, 2)
local number = ARGV[2]

redis.call('SREM', flushing, number)
redis.call('UNLINK', batch, of_flush)
redis.call('HDEL', intervals, number)
redis.call('HDEL', details, number)
return true
