-- Applies one batch of clicks, once, if the data set is still in the epoch that the batch is for.
-- KEYS: state, recorders, pending. ARGV from 3: recorder, number of the batch, epoch, then
-- the ids of at most 1,000 links, then as many numbers of clicks.
-- Returns the epoch and the number of the newest link change.
local known = state(KEYS[1])
if known[1] ~= ARGV[5] then
  return known
end
local last = redis.call('HGET', KEYS[2], ARGV[3])
if not last or tonumber(string.match(last, '^%d+')) < tonumber(ARGV[4]) then
  -- Redis' own clock: whoever forgets recorders that are gone goes by it.
  redis.call('HSET', KEYS[2], ARGV[3], ARGV[4] .. ' ' .. redis.call('TIME')[1] .. '000000')
  -- Read and written at once: one command for a batch costs less, here and in the log, than one for each link.
  local links = (#ARGV - 5) / 2
  local before = redis.call('HMGET', KEYS[3], unpack(ARGV, 6, 5 + links))
  local after = {}
  for i = 1, links do
    local clicks = ARGV[5 + links + i]
    if before[i] then
      clicks = string.format('%.0f', before[i] + clicks)
    end
    after[2 * i - 1] = ARGV[5 + i]
    after[2 * i] = clicks
  end
  redis.call('HSET', KEYS[3], unpack(after))
end
return known
