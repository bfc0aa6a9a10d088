-- Applies one batch of clicks, once.
-- KEYS: state, recorders, pending. ARGV: term, recorder, number of the batch, number of the recorder's last batch that
-- was acknowledged in this term (0 if there was none), the ids of at most 1,000 links, then as many numbers of clicks.
-- Returns the number of the newest link change.
local recorders, pending = unpack(KEYS, 2)
local recorder, number, acknowledged = unpack(ARGV, 2, 4)

local last = redis.call('HGET', recorders, recorder)
local applied = last and tonumber(string.match(last, '^%d+')) or 0
if applied < tonumber(acknowledged) then
  return rolled_back()
end
if applied < tonumber(number) then
  -- By the clock of Redis, which also decides when an inactive recorder is removed.
  redis.call('HSET', recorders, recorder, number .. ' ' .. redis.call('TIME')[1] .. '000000')
  -- One command for the whole batch costs less, here and in the append-only file, than one for each link.
  local links = (#ARGV - 4) / 2
  local before = redis.call('HMGET', pending, unpack(ARGV, 5, 4 + links))
  local after = {}
  for i = 1, links do
    local clicks = ARGV[4 + links + i]
    if before[i] then
      clicks = string.format('%.0f', before[i] + clicks)
    end
    after[2 * i - 1] = ARGV[4 + i]
    after[2 * i] = clicks
  end
  redis.call('HSET', pending, unpack(after))
end
return change
