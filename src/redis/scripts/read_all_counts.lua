-- Reads all clicks that are in Redis, as of one moment.
-- KEYS: state, pending, flushing, intervals. ARGV: term, prefix of flush keys, links at most.
-- Returns newest flush, numbers of the flushes under way, then links with their clicks: of the pending ones, and of each
-- flush; then the interval of each of these, where it is noted. False where there are more links.
local pending, flushing, intervals = unpack(KEYS, 2)
local flush_prefix, most = ARGV[2], tonumber(ARGV[3])

local under_way = redis.call('SMEMBERS', flushing)
local batches, links = { pending }, redis.call('HLEN', pending)
for _, number in ipairs(under_way) do
  local batch = flush_prefix .. epoch .. ':' .. number
  -- In a cluster whose slots are being moved, a key may have moved already: an error is better than a wrong count.
  if redis.call('EXISTS', batch) == 0 then
    return redis.error_reply('ERR a flush under way is not here')
  end
  batches[#batches + 1] = batch
  links = links + redis.call('HLEN', batch)
end
if links > most then
  return false
end
local counts = {}
for i, batch in ipairs(batches) do
  counts[i] = redis.call('HGETALL', batch)
end
return { newest_flush, under_way, counts, redis.call('HMGET', intervals, newest_flush + 1, unpack(under_way)) }
