-- Removes a flush that is written to the database.
-- KEYS: state, flushing, the flush, intervals, details, the list of its classes. ARGV: term, number, name.
local flushing, batch, intervals, details, of_flush = unpack(KEYS, 2)
local number, name = unpack(ARGV, 2)
local noted = redis.call('HGET', intervals, 'name:' .. number)

if noted and noted ~= name and redis.call('SISMEMBER', flushing, number) == 1 then
  return rolled_back('flush')
end
redis.call('SREM', flushing, number)
redis.call('UNLINK', batch, of_flush)
redis.call('HDEL', intervals, number, 'name:' .. number)
redis.call('HDEL', details, number)
return true
