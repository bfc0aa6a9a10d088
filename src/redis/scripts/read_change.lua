-- Reads where the changes of links stand; a data set without an epoch begins one.
-- KEYS: state. ARGV: process, now.
-- Returns the epoch and the number of the newest link change.
return state(KEYS[1])
