-- The same as state.lua for the script that records clicks, which needs more of the state.
-- KEYS: state first. ARGV: the recorder's field second.
local data_set = KEYS[1]
local used_in, epoch, change, newest_flush, pending_in, details_bytes, bytes_in_flushes, last = unpack(redis.call(
  'HMGET', data_set, 'term', 'epoch', 'change', 'flush', 'pending_in', 'details_bytes', 'details_bytes_in_flushes', ARGV[2]))
