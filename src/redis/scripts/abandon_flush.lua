-- A flush that the database does not take any more. If it is still under way here, this life of the server has to be
-- let in anew; where the data set went on in another life, what is pending here may be counted there.
-- Returns 1 if it is still under way, otherwise 0.
-- KEYS: state, flushing. ARGV: epoch, number, 1 if the data set went on in another life.
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
