-- Shared head of the scripts that start flushes, after term.lua. A flush is of one interval, and so are the pending clicks,
-- which become the flush after the newest. `intervals` has the interval of each. An instance of the version before notes none,
-- and keeps that of pending clicks which it turns into a flush.
-- KEYS: state, pending, flushing, intervals, flusher first. ARGV: term, prefix of flush keys, interval first.
local pending, flushing, intervals, flusher = unpack(KEYS, 2)
local flush_prefix, interval = ARGV[2], tonumber(ARGV[3])
newest_flush = tonumber(newest_flush)
-- Has the lease where no flusher has it and late batches are gathered. A flusher that knows this name takes the lease.
local KEPT_FREE = 'late'

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

-- The newest flush that a flusher may have read, and the name of that flusher; nil if none is noted.
local function read_by_flusher()
  local number, name, of_epoch = string.match(redis.call('HGET', data_set, 'begun') or '', '^(%d+) (%S+) (.*)$')
  if of_epoch == epoch then
    return tonumber(number), name
  end
end

local function note_read(name)
  redis.call('HSET', data_set, 'begun', string.format('%d %s %s', newest_flush, name, epoch))
end

