-- Gives the lease back, if it is still held by whoever asks.
-- KEYS: flusher. ARGV: who asks.
local flusher, asker = KEYS[1], ARGV[1]

if redis.call('GET', flusher) == asker then
  redis.call('DEL', flusher)
end
return true
