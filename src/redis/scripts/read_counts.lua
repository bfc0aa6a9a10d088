-- Reads how many clicks of some links are in Redis, as of one moment.
-- KEYS: state, pending, flushing. ARGV: prefix of flush keys, then link ids.
-- Returns epoch, newest flush, numbers of the flushes under way, then clicks per link: pending, and per flush.
local data_set, pending, flushing = unpack(KEYS)
local flush_prefix, ids = ARGV[1], { unpack(ARGV, 2) }

local epoch, newest = unpack(redis.call('HMGET', data_set, 'epoch', 'flush'))
local under_way = redis.call('SMEMBERS', flushing)
local counts = { redis.call('HMGET', pending, unpack(ids)) }
for _, number in ipairs(under_way) do
  local batch = flush_prefix .. epoch .. ':' .. number
  -- In a cluster whose slots are being moved, a key may have moved already: an error is better than a wrong count.
  if redis.call('EXISTS', batch) == 0 then
    return redis.error_reply('ERR a flush under way is not here')
  end
  counts[#counts + 1] = redis.call('HMGET', batch, unpack(ids))
end
return { epoch or '', newest or '0', under_way, counts }
