-- Shared head of the scripts that use a data set: refuses a call of another term, and does nothing then.
-- KEYS: state first. ARGV: term first.
local data_set = KEYS[1]
local used_in, epoch, change, newest_flush, pending_in =
  unpack(redis.call('HMGET', data_set, 'term', 'epoch', 'change', 'flush', 'pending_in'))
if used_in ~= ARGV[1] then
  return redis.error_reply('TERM ' .. (used_in or 'none') .. ' is that of the data set')
end

-- The data set is older than what is known of it: it has to be recovered under a new term; under a new epoch, too, where a
-- flush shows it.
local function rolled_back(found_by)
  redis.call('HDEL', data_set, 'term')
  redis.call('HSET', data_set, 'rolled_back', found_by or 'batch')
  return redis.error_reply('TERM the data set was rolled back')
end

