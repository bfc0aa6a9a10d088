-- Shared head of the scripts that start flushes, after term.lua. A flush is of one interval, and so are the pending clicks,
-- which become the flush after the newest. `intervals` has the interval of each.
-- KEYS: state, pending, flushing, intervals, details first.
local pending, flushing, intervals, details = unpack(KEYS, 2)
newest_flush = tonumber(newest_flush)

-- The key of a flush, or of its classes.
local function key_of(kind, number)
  return string.format('%s%s:%s:%d', string.match(data_set, '^(.*)state$'), kind, epoch, number)
end

local function note_pending(of_interval)
  redis.call('HSET', intervals, newest_flush + 1, of_interval)
  redis.call('HSET', data_set, 'pending_in', string.format('%d %d %s', newest_flush + 1, of_interval, epoch))
end

-- The interval of the pending clicks; nil if none is noted.
local function interval_of_pending()
  local number, noted, of_epoch = string.match(pending_in or '', '^(%d+) (%d+) (.*)$')
  if of_epoch == epoch and tonumber(number) == newest_flush + 1 then
    return tonumber(noted)
  end
end

-- Gives a flush the next number.
local function start_flush()
  newest_flush = redis.call('HINCRBY', data_set, 'flush', 1)
  redis.call('SADD', flushing, newest_flush)
end

-- Notes that a flush has more bytes of classes.
local function add_details(of_flush, bytes)
  redis.call('HINCRBY', intervals, 'details:' .. of_flush, bytes)
  redis.call('HINCRBY', data_set, 'details_bytes_in_flushes', bytes)
end

-- The pending clicks become a flush, and their classes with them.
local function flush_pending()
  start_flush()
  redis.call('RENAME', pending, key_of('flush', newest_flush))
  if redis.call('EXISTS', details) == 1 then
    redis.call('RENAME', details, key_of('details', newest_flush))
    add_details(newest_flush, details_bytes or 0)
  end
  details_bytes = 0
  redis.call('HSET', data_set, 'details_bytes', 0)
end

-- The newest flush that a flusher may have read; 0 before the first of this epoch. A flusher that has lost its lease may go on with
-- what it has read.
local function read_by_flusher()
  local number, of_epoch = string.match(redis.call('HGET', data_set, 'begun') or '', '^(%d+) (.*)$')
  return of_epoch == epoch and tonumber(number) or 0
end

