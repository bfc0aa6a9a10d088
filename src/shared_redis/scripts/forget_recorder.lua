-- Removes a recorder, unless it sent a batch meanwhile: that batch, sent again, would pass for a new one.
-- KEYS: recorders. ARGV: recorder, its value when it was read.
local recorders = KEYS[1]
local recorder, noted = unpack(ARGV)

if redis.call('HGET', recorders, recorder) == noted then
  redis.call('HDEL', recorders, recorder)
end
return true
