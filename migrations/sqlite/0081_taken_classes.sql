-- Packed classes of clicks that are summed together: out of the queue, and kept until all of their sums are added.
CREATE TABLE click_details_taken (
    id      INTEGER PRIMARY KEY,
    quarter INTEGER NOT NULL,
    details BLOB NOT NULL,
    limits  TEXT
) STRICT;

-- How many of those sums are added, in their order. NULL while more rows are taken out of the queue.
CREATE TABLE click_details_summing (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    added    INTEGER
) STRICT;
INSERT INTO click_details_summing (only_row, added) VALUES (1, NULL);
