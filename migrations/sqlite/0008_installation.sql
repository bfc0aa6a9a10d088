-- Names this database among all, so that nobody takes another one's clicks out of a Redis that both were given.
CREATE TABLE installation (
    only_one INTEGER PRIMARY KEY CHECK (only_one = 1),
    id       TEXT NOT NULL
) STRICT;
INSERT INTO installation (only_one, id) VALUES (1, lower(hex(randomblob(16))));
