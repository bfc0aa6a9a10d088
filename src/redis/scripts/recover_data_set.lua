-- Takes a data set into use after its server was started again or another one took over (the replication ID differs
-- from the noted one), so that it may have been rolled back. Only the first of several calls changes anything.
-- KEYS: state, pending, flushing, changes. ARGV from 3: replication ID, epoch and newest flush that the database was
-- asked about, 1 if the database is ahead (it has later flushes or will have), prefix of flush keys, the number below
-- which the database takes no further flush, and 1 if it refuses the newest flush, too, of which it has nothing.
-- Returns the epoch, the number of links whose clicks were dropped (-1 where none had to be), and 1 if this call did
-- it; false where the data set has moved on from what the database was asked about.
local data_set, pending, flushing, changes = unpack(KEYS)
local process, now, replication_id, asked_epoch, asked_flush = unpack(ARGV, 1, 5)
local database_is_ahead, flush_prefix, below, newest_is_refused = ARGV[6] == '1', ARGV[7], ARGV[8], ARGV[9] == '1'

local epoch, change, flush, known_replication_id = unpack(redis.call('HMGET', data_set, 'epoch', 'change', 'flush', 'life'))
if known_replication_id == replication_id then
  return { epoch, -1, 0 }
end
if (epoch or '') ~= asked_epoch or (flush or '0') ~= asked_flush then
  return false
end
if not database_is_ahead and redis.call('HEXISTS', data_set, 'elsewhere') == 1 then
  return false
end
if not epoch then
  epoch = state(data_set)[1]
  redis.call('HSET', data_set, 'life', replication_id)
  return { epoch, -1, 1 }
end
if not database_is_ahead then
  -- The database refuses a flush that was started before the restart and not written: it goes on under another number.
  -- The key is renamed first: in a cluster whose slots are being moved this may fail, and then nothing is changed.
  local newest = below
  if newest_is_refused and redis.call('SISMEMBER', flushing, flush) == 1 then
    newest = string.format('%d', newest + 1)
    local batch = flush_prefix .. epoch .. ':'
    redis.call('RENAME', batch .. flush, batch .. newest)
    redis.call('SREM', flushing, flush)
    redis.call('SADD', flushing, newest)
  end
  redis.call('HSET', data_set, 'flush', newest)
end
-- Above every change that was announced before and may be lost here, so that every instance clears its cache.
local above = math.max(tonumber(now), tonumber(change) + 1000000)
redis.call('HSET', data_set, 'life', replication_id, 'change', string.format('%d', above))
redis.call('UNLINK', changes)
if not database_is_ahead then
  return { epoch, -1, 1 }
end
-- The database is ahead, or will be: clicks that are pending or under way here may be in it already.
local dropped = redis.call('HLEN', pending)
for _, number in ipairs(redis.call('SMEMBERS', flushing)) do
  local batch = flush_prefix .. epoch .. ':' .. number
  dropped = dropped + redis.call('HLEN', batch)
  redis.call('UNLINK', batch)
end
redis.call('UNLINK', pending, flushing)
epoch = process .. '-' .. now
redis.call('HSET', data_set, 'epoch', epoch, 'flush', 0)
redis.call('HDEL', data_set, 'elsewhere')
return { epoch, dropped, 1 }
