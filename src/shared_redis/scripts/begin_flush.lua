-- Starts a flush: the pending clicks become a flush of their own. While a flush is unfinished that a flusher may have read,
-- no further one is started.
-- KEYS: state, pending, flushing, intervals, details, flusher. ARGV: term, name of the flusher, lease in ms, newest flush in the
-- ledger.
-- Returns false while another flusher has the lease, otherwise the numbers of the flushes under way, their intervals and names,
-- and whether clicks are still pending that are in none of them.
-- A name is unique: a number may come twice where the data set went back unnoticed.
local flusher = KEYS[6]
local name, lease, in_ledger = unpack(ARGV, 2)

if newest_flush < tonumber(in_ledger) then
  return rolled_back()
end
local owner = redis.call('GET', flusher)
if owner and owner ~= name then
  return false
end
-- A full Redis lets a script write after a DEL, even of a key that does not exist.
redis.call('DEL', flusher)
redis.call('SET', flusher, name, 'PX', lease)

local read = read_by_flusher()
local is_unfinished = false
for _, number in ipairs(redis.call('SMEMBERS', flushing)) do
  is_unfinished = is_unfinished or tonumber(number) <= read
end
local has_pending = redis.call('EXISTS', pending)
if not is_unfinished and has_pending == 1 then
  flush_pending()
  has_pending = 0
end
redis.call('HSET', data_set, 'begun', string.format('%d %s', newest_flush, epoch))

local under_way, of_intervals, names = redis.call('SMEMBERS', flushing), {}, {}
for i, number in ipairs(under_way) do
  of_intervals[i] = redis.call('HGET', intervals, number)
  local field = 'name:' .. number
  names[i] = redis.call('HGET', intervals, field)
  if not names[i] then
    local now = redis.call('TIME')
    names[i] = name .. ':' .. now[1] .. '.' .. now[2]
    redis.call('HSET', intervals, field, names[i])
  end
end
return { under_way, of_intervals, names, has_pending }
