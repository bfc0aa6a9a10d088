-- Sums of accounts get the clicks that were counted before there were such sums.
-- runs: in batches
SELECT take_into_owner_series(5000) LIMIT 5000;
