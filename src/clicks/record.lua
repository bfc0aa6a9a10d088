-- Applies one batch of clicks, once.
-- KEYS: state, recorders, pending. ARGV from 3: recorder, number of the batch, then link id, clicks, ...
-- Returns the epoch and the number of the newest link change.
local known = state(KEYS[1])
local last = redis.call('HGET', KEYS[2], ARGV[3])
if not last or tonumber(string.match(last, '^%d+')) < tonumber(ARGV[4]) then
  redis.call('HSET', KEYS[2], ARGV[3], ARGV[4] .. ' ' .. ARGV[2])
  local pending = KEYS[3]
  for i = 5, #ARGV, 2 do
    redis.call('HINCRBY', pending, ARGV[i], ARGV[i + 1])
  end
end
return known
