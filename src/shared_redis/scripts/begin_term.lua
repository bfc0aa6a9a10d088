-- Takes a data set into use under a new term, which the ledger gave to this server.
-- KEYS: state, pending, flushing, changes, intervals, details. ARGV: term, replication ID, now, the epoch that was read ('' if
-- none), the epoch from now on, newest flush in the ledger, prefix of flush keys, prefix of lists of classes.
-- Returns how many links had their pending clicks dropped (-1 where nothing was dropped) and 1 if scripts had found the
-- data set to be rolled back; 'behind' where the ledger knows another flush of this epoch, 'moved' where the data set is
-- not as it was read, or in a later term. In these two cases nothing is changed.
local data_set, pending, flushing, changes, intervals, details = unpack(KEYS)
local term, replication_id, now, epoch_read, epoch, in_ledger, flush_prefix, details_prefix = unpack(ARGV)

local fields = redis.call('HMGET', data_set, 'epoch', 'change', 'flush', 'term', 'rolled_back')
local known_epoch, change, flush, known_term, rolled_back = unpack(fields)
if (known_epoch or '') ~= epoch_read or tonumber(known_term or 0) >= tonumber(term) then
  return 'moved'
end
local dropped = -1
if epoch ~= epoch_read then
  -- What is pending or under way may be in the database already.
  dropped = redis.call('HLEN', pending)
  for _, number in ipairs(redis.call('SMEMBERS', flushing)) do
    local batch = flush_prefix .. epoch_read .. ':' .. number
    dropped = dropped + redis.call('HLEN', batch)
    redis.call('UNLINK', batch, details_prefix .. epoch_read .. ':' .. number)
  end
  redis.call('UNLINK', pending, flushing, intervals, details)
  redis.call('HSET', data_set, 'epoch', epoch, 'flush', 0)
  redis.call('HDEL', data_set, 'pending_in', 'begun', 'details_bytes', 'details_bytes_in_flushes')
elseif tonumber(flush) < tonumber(in_ledger) or rolled_back == 'flush' then
  return 'behind'
end
-- Redis keeps a small hash with short values as a list, in which each field takes a while to be found.
redis.call('HSET', data_set, 'note', 'This value is longer than 64 bytes, so that Redis keeps the hash as a table.')
-- Above every change that was announced before and may be lost here, so that every instance clears its cache.
change = string.format('%d', math.max(tonumber(now), tonumber(change or 0) + 1000000))
redis.call('HSET', data_set, 'term', term, 'replication_id', replication_id, 'change', change, 'generation', term .. '.' .. now)
redis.call('HDEL', data_set, 'rolled_back', 'elsewhere')
redis.call('UNLINK', changes)
return { dropped, rolled_back and 1 or 0 }
