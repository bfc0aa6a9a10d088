-- Gives the lease on flushing back, if the flusher still has it.
-- KEYS: flusher. ARGV: name of the flusher.
local flusher, name = KEYS[1], ARGV[1]

if redis.call('GET', flusher) == name then
  redis.call('DEL', flusher)
end
return true
