-- Begins a flush: what is pending becomes a batch of its own. Flushes that were begun and not finished
-- come first: while there are any, no further one is begun.
-- KEYS: state, pending, flushing, flusher. ARGV from 3: who asks, how many ms others keep away, prefix of flush keys.
-- Returns false while somebody else is at it, otherwise the epoch and the numbers of the flushes under way.
local data_set, pending, flushing, flusher = unpack(KEYS)
local asker, lease, flush_prefix = unpack(ARGV, 3)

local owner = redis.call('GET', flusher)
if owner and owner ~= asker then
  return false
end
-- Where Redis is full, a script may write once it removed something, be it nothing: this one makes room.
redis.call('DEL', flusher)
redis.call('SET', flusher, asker, 'PX', lease)
local epoch = state(data_set)[1]
if redis.call('SCARD', flushing) == 0 and redis.call('EXISTS', pending) == 1 then
  local number = redis.call('HINCRBY', data_set, 'flush', 1)
  redis.call('RENAME', pending, flush_prefix .. epoch .. ':' .. number)
  redis.call('SADD', flushing, number)
end
return { epoch, redis.call('SMEMBERS', flushing) }
