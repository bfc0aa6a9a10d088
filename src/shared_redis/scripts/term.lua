-- Refuses a call of another term, and does nothing then.
-- ARGV: term first.
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

