-- Forgets a recorder, unless it came back meanwhile: a batch that is sent again would be taken for a new one.
-- KEYS: recorders. ARGV: recorder, what was noted of it when it was read.
if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then
  redis.call('HDEL', KEYS[1], ARGV[1])
end
return true
