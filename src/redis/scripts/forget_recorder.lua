-- Forgets a recorder, unless it came back meanwhile: a batch that is sent again would be taken for a new one.
-- KEYS: recorders. ARGV: recorder, what was noted of it when it was read.
local recorders = KEYS[1]
local recorder, noted = unpack(ARGV)

if redis.call('HGET', recorders, recorder) == noted then
  redis.call('HDEL', recorders, recorder)
end
return true
