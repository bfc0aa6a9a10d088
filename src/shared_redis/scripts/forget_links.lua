-- Removes links of a flush that are written to the database, unless another flush has its number.
-- KEYS: state, intervals, the flush. ARGV: term, number, name, then the fields of at most 1,000 links.
local intervals, batch = unpack(KEYS, 2)
local number, name = unpack(ARGV, 2)

if redis.call('HGET', intervals, 'name:' .. number) == name then
  redis.call('HDEL', batch, unpack(ARGV, 4))
end
return true
