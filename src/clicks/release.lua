-- Gives the lease back, if it is still held by whoever asks.
-- KEYS: flusher. ARGV: who asks.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('DEL', KEYS[1])
end
return true
