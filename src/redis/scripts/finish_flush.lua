-- Removes a flush that is written to the database, if the data set is still in its epoch.
-- KEYS: state, flushing, the flush. ARGV: epoch, number.
local data_set, flushing, batch = unpack(KEYS)
local epoch, number = unpack(ARGV)

if redis.call('HGET', data_set, 'epoch') == epoch then
  redis.call('SREM', flushing, number)
  redis.call('UNLINK', batch)
end
return true
