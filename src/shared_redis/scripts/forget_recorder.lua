-- Removes a recorder, unless it sent a batch meanwhile: that batch, sent again, would pass for a new one.
-- KEYS: state, recorders. ARGV: recorder, its value in `recorders` when it was read, its field in the state.
local data_set, recorders = unpack(KEYS)
local recorder, noted, field = unpack(ARGV)

if redis.call('HGET', recorders, recorder) == noted then
  redis.call('HDEL', recorders, recorder)
  redis.call('HDEL', data_set, field)
end
return true
