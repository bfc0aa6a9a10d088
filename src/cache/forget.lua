-- Forgets a changed link and tells every instance.
-- KEYS: state, link, changes. ARGV from 3: code.
-- Returns the epoch and the number of this change.
local epoch = state(KEYS[1])[1]
redis.call('UNLINK', KEYS[2])
local number = redis.call('HINCRBY', KEYS[1], 'change', 1)
redis.call('XADD', KEYS[3], 'MAXLEN', '~', 10000, string.format('%d-0', number), 'code', ARGV[3])
return { epoch, string.format('%d', number) }
