-- Into how many shards the data sets of a Redis Cluster are divided, for each prefix of keys: all instances have the same
-- number, and former data sets are written back before the number changes.
CREATE TABLE redis_shards (
    prefix TEXT PRIMARY KEY,
    shards INTEGER NOT NULL
) STRICT;
