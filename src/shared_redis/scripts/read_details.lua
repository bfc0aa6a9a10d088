-- Reads classes of a flush.
-- KEYS: state, intervals, the list of the flush's classes. ARGV: term, number, name, first and last batch of the list.
-- Returns the packed classes of each of these batches; false if the flush under this number is not the one with this name, or not
-- there any more. Then neither is what was read before of its clicks.
local intervals, of_flush = unpack(KEYS, 2)
local number, name, first, last = unpack(ARGV, 2)

if redis.call('HGET', intervals, 'name:' .. number) ~= name then
  return false
end
return redis.call('LRANGE', of_flush, first, last)
