-- Applies one batch of clicks, once, if the data set is still in the epoch that the batch is for.
-- KEYS: state, recorders, pending. ARGV from 3: recorder, number of the batch, epoch, then
-- the ids of at most 1,000 links, then as many numbers of clicks.
-- Returns the epoch and the number of the newest link change.
local data_set, recorders, pending = unpack(KEYS)
local recorder, number, epoch = unpack(ARGV, 3, 5)

local known = state(data_set)
if known[1] ~= epoch then
  return known
end
local last = redis.call('HGET', recorders, recorder)
if not last or tonumber(string.match(last, '^%d+')) < tonumber(number) then
  -- By the clock of Redis, which also decides when an inactive recorder is removed.
  redis.call('HSET', recorders, recorder, number .. ' ' .. redis.call('TIME')[1] .. '000000')
  -- One command for the whole batch costs less, here and in the append-only file, than one for each link.
  local links = (#ARGV - 5) / 2
  local before = redis.call('HMGET', pending, unpack(ARGV, 6, 5 + links))
  local after = {}
  for i = 1, links do
    local clicks = ARGV[5 + links + i]
    if before[i] then
      clicks = string.format('%.0f', before[i] + clicks)
    end
    after[2 * i - 1] = ARGV[5 + i]
    after[2 * i] = clicks
  end
  redis.call('HSET', pending, unpack(after))
end
return known
