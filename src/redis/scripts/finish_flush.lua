-- Removes a flush that is written to the database.
-- KEYS: state, flushing, the flush. ARGV: term, number.
local flushing, batch = unpack(KEYS, 2)
local number = ARGV[2]

redis.call('SREM', flushing, number)
redis.call('UNLINK', batch)
return true
