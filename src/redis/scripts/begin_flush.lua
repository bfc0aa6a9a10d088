-- Starts a flush: the pending clicks become a flush of their own. While a flush is unfinished that a flusher may have read,
-- no further one is started.
-- KEYS: state, pending, flushing, intervals, flusher, details. ARGV: term, prefix of flush keys, the interval of clicks for which
-- none is noted, name of the flusher, lease in ms, newest flush in the ledger, prefix of lists of classes.
-- Returns false while another flusher has the lease, otherwise the numbers of the flushes under way, their intervals and names,
-- and whether clicks are still pending that are in none of them.
-- A name is unique: a number may come twice where the data set went back unnoticed.
local details = KEYS[6]
local name, lease, in_ledger, details_prefix = unpack(ARGV, 4)

if newest_flush < tonumber(in_ledger) then
  return rolled_back()
end
local owner = redis.call('GET', flusher)
if owner and owner ~= name and owner ~= KEPT_FREE then
  return false
end
-- A full Redis lets a script write after a DEL, even of a key that does not exist.
redis.call('DEL', flusher)
redis.call('SET', flusher, name, 'PX', lease)

local read, by = read_by_flusher()
if not read or by == KEPT_FREE then
  read = 0
end
local is_unfinished = false
for _, number in ipairs(redis.call('SMEMBERS', flushing)) do
  is_unfinished = is_unfinished or tonumber(number) <= read
end
local has_pending = redis.call('EXISTS', pending)
if not is_unfinished and has_pending == 1 then
  redis.call('RENAME', pending, start_flush())
  has_pending = 0
end
note_read(name)

local under_way, of_intervals, names = redis.call('SMEMBERS', flushing), {}, {}
local is_known = { [string.format('%d', newest_flush + 1)] = true }
for i, number in ipairs(under_way) do
  is_known[number] = true
  of_intervals[i] = redis.call('HGET', intervals, number)
  if not of_intervals[i] then
    of_intervals[i] = ARGV[3]
    redis.call('HSET', intervals, number, ARGV[3])
  end
  local field = 'name:' .. number
  is_known[field] = true
  names[i] = redis.call('HGET', intervals, field)
  if not names[i] then
    local now = redis.call('TIME')
    names[i] = name .. ':' .. now[1] .. '.' .. now[2]
    redis.call('HSET', intervals, field, names[i])
  end
end
-- Those of flushes that an instance of the version before finished.
if redis.call('HLEN', intervals) > 2 * #under_way + 1 then
  for _, number in ipairs(redis.call('HKEYS', intervals)) do
    if not is_known[number] then
      redis.call('HDEL', intervals, number)
    end
  end
end
if redis.call('HLEN', details) > #under_way + 1 then
  for _, number in ipairs(redis.call('HKEYS', details)) do
    if not is_known[number] then
      redis.call('HDEL', details, number)
      redis.call('UNLINK', details_prefix .. epoch .. ':' .. number)
    end
  end
end
return { under_way, of_intervals, names, has_pending }
