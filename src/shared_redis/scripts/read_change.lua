-- Reads where the changes of links stand.
-- KEYS: state. ARGV: term.
-- Returns the number of the newest link change.
return change
