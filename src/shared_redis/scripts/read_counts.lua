-- Reads how many clicks of some links are in Redis, as of one moment.
-- KEYS: state, pending, flushing, intervals. ARGV: term, prefix of flush keys, then the fields of links.
-- Returns newest flush, numbers of the flushes under way, then clicks per link: pending, and per flush; then the
-- interval of each of these, where it is noted.
local pending, flushing, intervals = unpack(KEYS, 2)
local flush_prefix, links = ARGV[2], { unpack(ARGV, 3) }

local under_way = redis.call('SMEMBERS', flushing)
local counts = { redis.call('HMGET', pending, unpack(links)) }
for _, number in ipairs(under_way) do
  local batch = flush_prefix .. epoch .. ':' .. number
  -- In a cluster whose slots are being moved, a key may have moved already: an error is better than a wrong count.
  if redis.call('EXISTS', batch) == 0 then
    return redis.error_reply('ERR a flush under way is not here')
  end
  counts[#counts + 1] = redis.call('HMGET', batch, unpack(links))
end
return { newest_flush, under_way, counts, redis.call('HMGET', intervals, newest_flush + 1, unpack(under_way)) }
