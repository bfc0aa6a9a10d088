-- A flush that the database does not take any more. If it is still under way here, this life of the server has to be
-- let in anew; where the data set went on in another life, what is pending here may be counted there.
-- Returns 1 if it is still under way, otherwise 0.
-- KEYS: state, flushing. ARGV: epoch, number, 1 if the data set went on in another life.
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] or redis.call('SISMEMBER', KEYS[2], ARGV[2]) == 0 then
  return 0
end
redis.call('HDEL', KEYS[1], 'life')
if ARGV[3] == '1' then
  redis.call('HSET', KEYS[1], 'elsewhere', 1)
end
return 1
