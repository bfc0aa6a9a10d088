-- Removes a flush that is in the database, if it is still that one.
-- KEYS: state, flushing, the flush. ARGV: epoch, number.
if redis.call('HGET', KEYS[1], 'epoch') == ARGV[1] then
  redis.call('SREM', KEYS[2], ARGV[2])
  redis.call('UNLINK', KEYS[3])
end
return true
