-- Keeps the lease for longer, if it is still held by whoever asks; one that somebody else took meanwhile is theirs.
-- KEYS: flusher. ARGV: who asks, how many ms others keep away.
local flusher, asker, lease = KEYS[1], ARGV[1], ARGV[2]

if redis.call('GET', flusher) == asker then
  redis.call('PEXPIRE', flusher, lease)
end
return true
