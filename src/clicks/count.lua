-- What Redis holds of some links' clicks, as of one moment.
-- KEYS: state, pending, flushing. ARGV: prefix of flush keys, then link ids.
-- Returns epoch, newest flush, numbers of the flushes under way, then clicks per link: pending, and per flush.
local known = redis.call('HMGET', KEYS[1], 'epoch', 'flush')
local flushing = redis.call('SMEMBERS', KEYS[3])
local ids = {}
for i = 2, #ARGV do
  ids[i - 1] = ARGV[i]
end
local counts = { redis.call('HMGET', KEYS[2], unpack(ids)) }
for _, number in ipairs(flushing) do
  local batch = ARGV[1] .. known[1] .. ':' .. number
  -- On a cluster whose slots are being moved a key may be elsewhere already: no count rather than a wrong one.
  if redis.call('EXISTS', batch) == 0 then
    return redis.error_reply('ERR a flush under way is not here')
  end
  counts[#counts + 1] = redis.call('HMGET', batch, unpack(ids))
end
return { known[1] or '', known[2] or '0', flushing, counts }
