-- Removes a flush that is written to the database.
-- KEYS: state, flushing, the flush, intervals, the list of its classes. ARGV: term, number, name.
local flushing, batch, intervals, of_flush = unpack(KEYS, 2)
local number, name = unpack(ARGV, 2)
local noted, bytes = unpack(redis.call('HMGET', intervals, 'name:' .. number, 'details:' .. number))

if noted and noted ~= name and redis.call('SISMEMBER', flushing, number) == 1 then
  return rolled_back('flush')
end
redis.call('SREM', flushing, number)
redis.call('UNLINK', batch, of_flush)
redis.call('HDEL', intervals, number, 'name:' .. number, 'details:' .. number)
if bytes then
  redis.call('HINCRBY', data_set, 'details_bytes_in_flushes', -bytes)
end
return true
