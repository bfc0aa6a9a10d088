-- In which life of its Redis what is only fenced off was found (up_to -1: nothing of it is or will be in the links).
ALTER TABLE flush_ledger ADD COLUMN life TEXT;
