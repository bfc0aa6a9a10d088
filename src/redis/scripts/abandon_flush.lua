-- Abandons a flush that the database refuses. If it is still under way here, the data set has to be recovered before
-- it is used on. If the data set was continued on another server, its pending clicks may be counted there.
-- Returns 1 if it is still under way, otherwise 0.
-- KEYS: state, flushing. ARGV: epoch, number, 1 if the data set was continued on another server.
local data_set, flushing = unpack(KEYS)
local epoch, number, went_on_elsewhere = ARGV[1], ARGV[2], ARGV[3] == '1'

if redis.call('HGET', data_set, 'epoch') ~= epoch or redis.call('SISMEMBER', flushing, number) == 0 then
  return 0
end
redis.call('HDEL', data_set, 'life')
if went_on_elsewhere then
  redis.call('HSET', data_set, 'elsewhere', 1)
end
return 1
