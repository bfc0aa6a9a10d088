-- The moment up to which all clicks that the data set was given are written back: answers name it while Redis is away.
-- NULL where an instance of the version before writes back, which notes no moment.
ALTER TABLE data_sets ADD COLUMN written_up_to timestamptz;
