-- Refuses a data set whose flush is not the one that the ledger has under its number: it was rolled back.
-- KEYS: state. ARGV: term.
return rolled_back('flush')
