-- Names this database among all, so that nobody takes another one's clicks out of a Redis that both were given.
CREATE TABLE installation (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    id       text NOT NULL
);
INSERT INTO installation (id) VALUES (md5(random()::text || random()::text || clock_timestamp()::text));
