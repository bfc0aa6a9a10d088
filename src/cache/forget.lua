-- Forgets changed links and tells every instance.
-- KEYS: state, changes, links. ARGV from 3: the links' codes.
-- Returns the epoch and the number of the last of these changes.
local epoch = state(KEYS[1])[1]
redis.call('UNLINK', unpack(KEYS, 3))
local number
for i = 3, #ARGV do
  number = redis.call('HINCRBY', KEYS[1], 'change', 1)
  redis.call('XADD', KEYS[2], 'MAXLEN', '~', 10000, string.format('%d-0', number), 'code', ARGV[i])
end
return { epoch, string.format('%d', number) }
