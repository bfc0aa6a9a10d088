-- Removes a data set that is given up, unless it has clicks that are not written back.
-- KEYS: state, pending, flushing, then all others. ARGV: term.
-- Returns 1 if it is removed, otherwise 0.
if redis.call('EXISTS', KEYS[2], KEYS[3]) > 0 then
  return 0
end
redis.call('UNLINK', unpack(KEYS))
return 1
