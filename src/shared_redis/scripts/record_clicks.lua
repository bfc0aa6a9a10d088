-- Applies one batch of clicks, once.
-- KEYS: state, pending, flushing, intervals, details, recorders. ARGV: term, the recorder's field, its number in `recorders` if the
-- time has to be noted there (otherwise ''), interval, number of the batch, number of the recorder's last batch that was
-- acknowledged in this term (0 if there was none), number of the newest link change that the sender knows ('' to apply the batch
-- whatever changed), bytes that all classes may take, packed classes of the batch ('' if there are none), and packed clicks: the
-- fields of at most 1,000 links, each with its number of clicks behind it, as strings of MessagePack.
-- Returns the number of the newest link change, with a minus where the sender does not know it: nothing is applied then, as the
-- clicks may be of links that may not be followed any more; and 1 if there was no room for the classes, otherwise 0.
local recorders = KEYS[6]
local _, recorder, to_note, interval, number, acknowledged, known_change, room, packed, clicks = unpack(ARGV)

-- The flush of a batch that is older than the pending clicks: one of its interval that no flusher has read yet, or else one that
-- starts now.
local function late_flush(pending_interval)
  for waiting = newest_flush, read_by_flusher() + 1, -1 do
    if redis.call('HGET', intervals, waiting) == interval and redis.call('SISMEMBER', flushing, waiting) == 1 then
      return waiting
    end
  end
  start_flush()
  redis.call('HSET', intervals, newest_flush, interval)
  -- The pending clicks get the next number instead.
  note_pending(pending_interval)
  return newest_flush
end

-- Has the pending clicks be of the batch's interval. Returns the number of the flush that the batch is added to instead, if it is
-- late.
local function make_place()
  local pending_interval, of_batch = interval_of_pending(), tonumber(interval)
  if not pending_interval or redis.call('EXISTS', pending) == 0 then
    note_pending(of_batch)
  elseif pending_interval < of_batch then
    flush_pending()
    note_pending(of_batch)
  elseif pending_interval > of_batch then
    return late_flush(pending_interval)
  end
end

local applied = tonumber(last or 0)
if applied < tonumber(acknowledged) then
  return rolled_back()
end
if applied >= tonumber(number) then
  return { change, 0 }
end
if known_change ~= '' and known_change ~= change then
  return { '-' .. change, 0 }
end
-- The first write is one that a full Redis refuses, here and in `make_place`: after it a script may write whatever it likes.
if to_note ~= '' then
  -- By the clock of Redis, which also decides when an inactive recorder is removed.
  redis.call('HSET', recorders, to_note, redis.call('TIME')[1] .. '000000')
end
local used = (details_bytes or 0) + (bytes_in_flushes or 0) + #packed
local has_room = used <= tonumber(room)
local late
if pending_in ~= newest_flush + 1 .. ' ' .. interval .. ' ' .. epoch then
  late = make_place()
end
if packed == '' or not has_room then
  redis.call('HSET', data_set, recorder, number)
elseif late then
  redis.call('HSET', data_set, recorder, number)
  redis.call('RPUSH', key_of('details', late), packed)
  add_details(late, #packed)
else
  redis.call('HSET', data_set, recorder, number, 'details_bytes', (details_bytes or 0) + #packed)
  redis.call('RPUSH', details, packed)
end
-- One command for the whole batch costs less, here and in the append-only file, than one for each link.
local place = late and key_of('flush', late) or pending
local sums, links = { cmsgpack.unpack(clicks) }, {}
for i = 1, #sums / 2 do
  links[i] = sums[2 * i - 1]
end
for i, before in ipairs(redis.call('HMGET', place, unpack(links))) do
  if before then
    sums[2 * i] = before + sums[2 * i]
  end
end
redis.call('HSET', place, unpack(sums))
return { change, packed == '' and 0 or has_room and 0 or 1 }
