-- What is cached of some links.
-- KEYS: state, links.
-- Returns the number of the newest change, empty where there was none yet, and each link or nil.
return { redis.call('HGET', KEYS[1], 'change') or '', redis.call('MGET', unpack(KEYS, 2)) }
