-- Shared head of the scripts that use a data set: reads its state, with a single command.
-- KEYS: state first.
local data_set = KEYS[1]
local used_in, epoch, change, newest_flush, pending_in, details_bytes =
  unpack(redis.call('HMGET', data_set, 'term', 'epoch', 'change', 'flush', 'pending_in', 'details_bytes'))
