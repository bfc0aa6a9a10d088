-- Extends the lease on flushing, if the flusher still has it.
-- KEYS: flusher. ARGV: name of the flusher, lease in ms.
local flusher, name, lease = KEYS[1], ARGV[1], ARGV[2]

if redis.call('GET', flusher) == name then
  redis.call('PEXPIRE', flusher, lease)
end
return true
