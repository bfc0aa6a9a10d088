-- Shared head of the scripts that change the data set. A Redis that is new or was emptied begins a new
-- epoch: ARGV[1] names the process, ARGV[2] the moment (microseconds since 1970), so that no epoch comes
-- twice. Changes are numbered from that moment on, above whatever an instance saw before.
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

