-- Applies one batch of clicks, once.
-- KEYS: state, pending, flushing, intervals, flusher, recorders. ARGV: term, prefix of flush keys, interval, recorder, number of
-- the batch, number of the recorder's last batch that was acknowledged in this term (0 if there was none), number of the newest
-- link change that the sender knows ('' to apply the batch whatever changed), the ids of at most 1,000 links, then as many
-- numbers of clicks.
-- Returns the number of the newest link change, with a minus where the sender does not know it: nothing is applied then, as the
-- clicks may be of links that may not be followed any more.
local recorders = KEYS[6]
local recorder, number, acknowledged, known_change = unpack(ARGV, 4, 7)

-- The place of a batch that is older than the pending clicks: a flush of its interval that no flusher has read yet, or else
-- one that starts now. An instance of the version before does not note what it reads: where one has the lease, every such
-- batch becomes a flush of its own.
local function late_flush(pending_interval)
  local read, name = read_by_flusher()
  if not read then
    read, name = newest_flush, '-'
    note_read(name)
  end
  if (redis.call('GET', flusher) or name) == name then
    for waiting = newest_flush, read + 1, -1 do
      if tonumber(redis.call('HGET', intervals, waiting) or 0) == interval and redis.call('SISMEMBER', flushing, waiting) == 1 then
        return flush_key(waiting)
      end
    end
  end
  local started = start_flush()
  redis.call('HSET', intervals, newest_flush, interval)
  note_pending(pending_interval)
  return started
end

-- What the batch is added to.
local function place_of_batch()
  if pending_in == string.format('%d %d %s', newest_flush + 1, interval, epoch) then
    return pending
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
  return pending
end

local last = redis.call('HGET', recorders, recorder)
local applied = last and tonumber(string.match(last, '^%d+')) or 0
if applied < tonumber(acknowledged) then
  return rolled_back()
end
if applied < tonumber(number) then
  if known_change ~= '' and known_change ~= change then
    return '-' .. change
  end
  -- By the clock of Redis, which also decides when an inactive recorder is removed.
  redis.call('HSET', recorders, recorder, number .. ' ' .. redis.call('TIME')[1] .. '000000')
  local place = place_of_batch()
  -- One command for the whole batch costs less, here and in the append-only file, than one for each link.
  local links = (#ARGV - 7) / 2
  local before = redis.call('HMGET', place, unpack(ARGV, 8, 7 + links))
  local after = {}
  for i = 1, links do
    local clicks = ARGV[7 + links + i]
    if before[i] then
      clicks = string.format('%.0f', before[i] + clicks)
    end
    after[2 * i - 1] = ARGV[7 + i]
    after[2 * i] = clicks
  end
  redis.call('HSET', place, unpack(after))
end
return change
