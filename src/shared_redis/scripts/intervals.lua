-- Shared head of the scripts that start flushes, after term.lua. A flush is of one interval, and so are the pending clicks,
-- which become the flush after the newest. `intervals` has the interval of each.
-- KEYS: state, pending, flushing, intervals first. ARGV: term, prefix of flush keys first.
local pending, flushing, intervals = unpack(KEYS, 2)
local flush_prefix = ARGV[2]
newest_flush = tonumber(newest_flush)

local function flush_key(number)
  return flush_prefix .. epoch .. ':' .. string.format('%d', number)
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

-- Gives a flush the next number. Returns its key.
local function start_flush()
  newest_flush = redis.call('HINCRBY', data_set, 'flush', 1)
  redis.call('SADD', flushing, newest_flush)
  return flush_key(newest_flush)
end

-- The newest flush that a flusher may have read; 0 before the first of this epoch. A flusher that has lost its lease may go on with
-- what it has read.
local function read_by_flusher()
  local number, of_epoch = string.match(redis.call('HGET', data_set, 'begun') or '', '^(%d+) (.*)$')
  return of_epoch == epoch and tonumber(number) or 0
end

