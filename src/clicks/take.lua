-- Begins a flush: what is pending becomes a batch of its own. Flushes that were begun and not finished
-- come first: while there are any, no further one is begun.
-- KEYS: state, pending, flushing, flusher. ARGV from 3: who asks, how many ms others keep away, prefix of flush keys.
-- Returns false while somebody else is at it, otherwise the epoch and the numbers of the flushes under way.
local owner = redis.call('GET', KEYS[4])
if owner and owner ~= ARGV[3] then
  return false
end
-- Where Redis is full, a script may write once it removed something, be it nothing: this one makes room.
redis.call('DEL', KEYS[4])
redis.call('SET', KEYS[4], ARGV[3], 'PX', ARGV[4])
local epoch = state(KEYS[1])[1]
if redis.call('SCARD', KEYS[3]) == 0 and redis.call('EXISTS', KEYS[2]) == 1 then
  local number = redis.call('HINCRBY', KEYS[1], 'flush', 1)
  redis.call('RENAME', KEYS[2], ARGV[5] .. epoch .. ':' .. number)
  redis.call('SADD', KEYS[3], number)
end
return { epoch, redis.call('SMEMBERS', KEYS[3]) }
