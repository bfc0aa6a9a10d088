-- Reads a piece of the pending clicks, or of a flush under way.
-- KEYS: state, the hash; and flushing, where that is of a flush. ARGV: term, cursor, fields, number of the flush.
-- Returns the newest flush, the next cursor, and links, each with its clicks behind it; no cursor where the flush is finished.
local batch, flushing = unpack(KEYS, 2)
local cursor, fields, number = unpack(ARGV, 2)
if flushing and redis.call('EXISTS', batch) == 0 then
  -- In a cluster whose slots are being moved, a key may have moved already: an error is better than a wrong count.
  if redis.call('SISMEMBER', flushing, number) == 1 then
    return redis.error_reply('ERR a flush under way is not here')
  end
  return { newest_flush, false, {} }
end
local piece = redis.call('HSCAN', batch, cursor, 'COUNT', fields)
return { newest_flush, piece[1], piece[2] }
