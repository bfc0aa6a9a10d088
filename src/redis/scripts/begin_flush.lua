-- Starts a flush: the pending clicks become a flush of their own. While an earlier flush is unfinished, no further
-- one is started.
-- KEYS: state, pending, flushing, flusher. ARGV: term, name of the flusher, lease in ms, prefix of flush keys, newest flush
-- in the ledger.
-- Returns false while another flusher has the lease, otherwise the numbers of the flushes under way.
local pending, flushing, flusher = unpack(KEYS, 2)
local name, lease, flush_prefix, in_ledger = unpack(ARGV, 2)

if tonumber(redis.call('HGET', data_set, 'flush')) < tonumber(in_ledger) then
  return rolled_back()
end
local owner = redis.call('GET', flusher)
if owner and owner ~= name then
  return false
end
-- A full Redis lets a script write after a DEL, even of a key that does not exist.
redis.call('DEL', flusher)
redis.call('SET', flusher, name, 'PX', lease)
if redis.call('SCARD', flushing) == 0 and redis.call('EXISTS', pending) == 1 then
  local number = redis.call('HINCRBY', data_set, 'flush', 1)
  redis.call('RENAME', pending, flush_prefix .. epoch .. ':' .. number)
  redis.call('SADD', flushing, number)
end
return redis.call('SMEMBERS', flushing)
