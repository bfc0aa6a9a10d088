-- Lets a server in whose life is not the one that the data set was last seen in: it was started again, or
-- took over, so the data set may be older than it was. Does so once, whoever asks.
-- KEYS: state, pending, flushing, changes. ARGV from 3: life, epoch and newest flush that the database was
-- asked about, 1 if it has later ones or will have (those of another life), prefix of flush keys, the number below
-- which it takes no further flush, and 1 if it will not take the newest either, of which it has nothing.
-- Returns the epoch, the number of links whose clicks were dropped, or -1 where none had to be, and whether it was
-- this call that let it in; false where the data set has moved on from what the database was asked about.
local data_set, pending, flushing, changes = unpack(KEYS)
local process, now, life, asked_epoch, asked_flush = unpack(ARGV, 1, 5)
local database_is_ahead, flush_prefix, below, newest_is_over = ARGV[6] == '1', ARGV[7], ARGV[8], ARGV[9] == '1'

local epoch, change, flush, known_life = unpack(redis.call('HMGET', data_set, 'epoch', 'change', 'flush', 'life'))
if known_life == life then
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
  redis.call('HSET', data_set, 'life', life)
  return { epoch, -1, 1 }
end
if not database_is_ahead then
  -- What an earlier life began and did not write is over there, and goes on here under another number. The key first:
  -- on a cluster whose slots are being moved it may be elsewhere, and then nothing is changed.
  local newest = below
  if newest_is_over and redis.call('SISMEMBER', flushing, flush) == 1 then
    newest = string.format('%d', newest + 1)
    local batch = flush_prefix .. epoch .. ':'
    redis.call('RENAME', batch .. flush, batch .. newest)
    redis.call('SREM', flushing, flush)
    redis.call('SADD', flushing, newest)
  end
  redis.call('HSET', data_set, 'flush', newest)
end
-- Above every change that was told before and may be forgotten here: everybody forgets all they remember.
local above = math.max(tonumber(now), tonumber(change) + 1000000)
redis.call('HSET', data_set, 'life', life, 'change', string.format('%d', above))
redis.call('UNLINK', changes)
if not database_is_ahead then
  return { epoch, -1, 1 }
end
-- The database is ahead, or will be: what is pending or under way here may be in it already.
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
