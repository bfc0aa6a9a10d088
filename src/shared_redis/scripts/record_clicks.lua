-- Applies one batch of clicks, once.
-- KEYS: state, pending, flushing, intervals, recorders, details. ARGV: term, prefix of flush keys, interval, recorder,
-- number of the batch, number of the recorder's last batch that was acknowledged in this term (0 if there was none), number of
-- the newest link change that the sender knows ('' to apply the batch whatever changed), prefix of lists of classes, bytes that
-- all classes may take, packed classes of the batch ('' if there are none), the ids of at most 1,000 links, then as many numbers
-- of clicks.
-- Returns the number of the newest link change, with a minus where the sender does not know it: nothing is applied then, as the
-- clicks may be of links that may not be followed any more; and 1 if there was no room for the classes, otherwise 0.
local recorders, details = KEYS[5], KEYS[6]
local interval = tonumber(ARGV[3])
local recorder, number, acknowledged, known_change, details_prefix, room, packed = unpack(ARGV, 4, 10)

local function details_key(of_flush)
  return string.format('%s%s:%d', details_prefix, epoch, of_flush)
end

-- The place of a batch that is older than the pending clicks: a flush of its interval that no flusher has read yet, or else
-- one that starts now.
local function late_flush(pending_interval)
  for waiting = newest_flush, read_by_flusher() + 1, -1 do
    if tonumber(redis.call('HGET', intervals, waiting) or 0) == interval and redis.call('SISMEMBER', flushing, waiting) == 1 then
      return flush_key(waiting), waiting
    end
  end
  local started, of_pending = start_flush(), newest_flush
  redis.call('HSET', intervals, newest_flush, interval)
  note_pending(pending_interval)
  -- The pending clicks get the next number instead, and so do their classes.
  if redis.call('EXISTS', details_key(of_pending)) == 1 then
    redis.call('RENAME', details_key(of_pending), details_key(of_pending + 1))
    redis.call('HSET', details, of_pending + 1, redis.call('HGET', details, of_pending) or 0)
    redis.call('HDEL', details, of_pending)
  end
  return started, newest_flush
end

-- What the batch is added to, and the number of the flush that this is or will be.
local function place_of_batch()
  if pending_in == string.format('%d %d %s', newest_flush + 1, interval, epoch) then
    return pending, newest_flush + 1
  end
  local pending_interval = interval_of_pending()
  if not pending_interval or redis.call('EXISTS', pending) == 0 then
    note_pending(interval)
  elseif pending_interval < interval then
    redis.call('RENAME', pending, start_flush())
    note_pending(interval)
  else
    return late_flush(pending_interval)
  end
  return pending, newest_flush + 1
end

-- Keeps the classes of the batch, if there is room for them.
local function keep_details(of_flush)
  local used = #packed
  for _, bytes in ipairs(redis.call('HVALS', details)) do
    used = used + bytes
  end
  if used > tonumber(room) then
    return false
  end
  redis.call('RPUSH', details_key(of_flush), packed)
  redis.call('HINCRBY', details, of_flush, #packed)
  return true
end

local refused = 0
local last = redis.call('HGET', recorders, recorder)
local applied = last and tonumber(string.match(last, '^%d+')) or 0
if applied < tonumber(acknowledged) then
  return rolled_back()
end
if applied < tonumber(number) then
  if known_change ~= '' and known_change ~= change then
    return { '-' .. change, 0 }
  end
  -- By the clock of Redis, which also decides when an inactive recorder is removed.
  redis.call('HSET', recorders, recorder, number .. ' ' .. redis.call('TIME')[1] .. '000000')
  local place, of_flush = place_of_batch()
  if packed ~= '' and not keep_details(of_flush) then
    refused = 1
  end
  -- One command for the whole batch costs less, here and in the append-only file, than one for each link.
  local links = (#ARGV - 10) / 2
  local before = redis.call('HMGET', place, unpack(ARGV, 11, 10 + links))
  local after = {}
  for i = 1, links do
    local clicks = ARGV[10 + links + i]
    if before[i] then
      clicks = string.format('%.0f', before[i] + clicks)
    end
    after[2 * i - 1] = ARGV[10 + i]
    after[2 * i] = clicks
  end
  redis.call('HSET', place, unpack(after))
end
return { change, refused }
