-- Shared head of the scripts that change the data set. ARGV[1] is the epoch and ARGV[2] the change
-- number (microseconds since 1970) that a Redis which is new or was emptied begins with: both differ
-- from whatever an instance saw before, so that every instance notices.
local function state(key)
  local known = redis.call('HMGET', key, 'epoch', 'change')
  if known[1] then
    return known
  end
  redis.call('HSET', key, 'epoch', ARGV[1], 'change', ARGV[2], 'flush', 0)
  return { ARGV[1], ARGV[2] }
end

