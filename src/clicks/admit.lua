-- Lets a server in whose life is not the one that the data set was last seen in: it was started again, or
-- took over, so the data set may be older than it was. Does so once, whoever asks.
-- KEYS: state, pending, flushing, changes. ARGV from 3: life, epoch and newest flush that the database was
-- asked about, 1 if it has later ones or will have (those of another life), prefix of flush keys, the number below
-- which it takes no further flush, and 1 if it will not take the newest either, of which it has nothing.
-- Returns the epoch, the number of links whose clicks were dropped, or -1 where none had to be, and whether it was
-- this call that let it in; false where the data set has moved on from what the database was asked about.
local known = redis.call('HMGET', KEYS[1], 'epoch', 'change', 'flush', 'life')
if known[4] == ARGV[3] then
  return { known[1], -1, 0 }
end
if (known[1] or '') ~= ARGV[4] or (known[3] or '0') ~= ARGV[5] then
  return false
end
if ARGV[6] ~= '1' and redis.call('HEXISTS', KEYS[1], 'elsewhere') == 1 then
  return false
end
if not known[1] then
  local epoch = state(KEYS[1])[1]
  redis.call('HSET', KEYS[1], 'life', ARGV[3])
  return { epoch, -1, 1 }
end
if ARGV[6] ~= '1' then
  -- What an earlier life began and did not write is over there, and goes on here under another number. The key first:
  -- on a cluster whose slots are being moved it may be elsewhere, and then nothing is changed.
  local newest = ARGV[8]
  if ARGV[9] == '1' and redis.call('SISMEMBER', KEYS[3], ARGV[5]) == 1 then
    newest = string.format('%d', newest + 1)
    local batch = ARGV[7] .. known[1] .. ':'
    redis.call('RENAME', batch .. ARGV[5], batch .. newest)
    redis.call('SREM', KEYS[3], ARGV[5])
    redis.call('SADD', KEYS[3], newest)
  end
  redis.call('HSET', KEYS[1], 'flush', newest)
end
-- Above every change that was told before and may be forgotten here: everybody forgets all they remember.
local change = math.max(tonumber(ARGV[2]), tonumber(known[2]) + 1000000)
redis.call('HSET', KEYS[1], 'life', ARGV[3], 'change', string.format('%d', change))
redis.call('UNLINK', KEYS[4])
if ARGV[6] ~= '1' then
  return { known[1], -1, 1 }
end
-- The database is ahead, or will be: what is pending or under way here may be in it already.
local dropped = redis.call('HLEN', KEYS[2])
for _, number in ipairs(redis.call('SMEMBERS', KEYS[3])) do
  local batch = ARGV[7] .. known[1] .. ':' .. number
  dropped = dropped + redis.call('HLEN', batch)
  redis.call('UNLINK', batch)
end
redis.call('UNLINK', KEYS[2], KEYS[3])
local epoch = ARGV[1] .. '-' .. ARGV[2]
redis.call('HSET', KEYS[1], 'epoch', epoch, 'flush', 0)
redis.call('HDEL', KEYS[1], 'elsewhere')
return { epoch, dropped, 1 }
