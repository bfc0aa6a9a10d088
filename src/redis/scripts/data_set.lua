-- Shared head of the scripts that need an epoch. A Redis that is new or lost its data begins a new epoch. Its name is
-- made of ARGV[1], the process, and ARGV[2], the time (microseconds since 1970), so that no epoch comes twice.
-- Changes are numbered from that time on, above every number that an instance saw before.
-- Returns the epoch and the number of the newest link change.
local function state(key)
  local known = redis.call('HMGET', key, 'epoch', 'change')
  if known[1] then
    return known
  end
  local process, now = ARGV[1], ARGV[2]
  local epoch = process .. '-' .. now
  redis.call('HSET', key, 'epoch', epoch, 'change', now, 'flush', 0)
  return { epoch, now }
end

