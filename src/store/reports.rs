//! Which reports make room for a new one: statements of both databases. `$1` is the reporter, `$2` the new report,
//! `$3` how many are kept, and `$4` the link.

/// Reports that are kept of one link.
const MAX_REPORTS_OF_LINK: i64 = 20;

/// Reports that are kept of all links: some ten megabytes.
const MAX_REPORTS: i64 = 10_000;

/// Reports that are kept of one link by one address.
const MAX_REPORTS_OF_REPORTER: i64 = 2;

/// Of too many reports of one link by one address, the newest are kept.
const PRUNE_REPORTER: &str =
    "DELETE FROM reports WHERE link_id = $4 AND address = $1 AND id <> $2 AND id NOT IN (
        SELECT id FROM reports WHERE link_id = $4 AND address = $1 ORDER BY id DESC LIMIT $3)";

/// Of too many reports of one link, the oldest of the address that has most makes room, rather that of the new report than
/// another: so if each has one, the oldest of all.
const PRUNE_LINK: &str =
    "DELETE FROM reports WHERE (SELECT count(*) FROM reports WHERE link_id = $4) > $3 AND id IN (
        SELECT min(id) FROM reports WHERE link_id = $4 AND id <> $2
        GROUP BY address ORDER BY count(*) DESC, address = $1 DESC, min(id) LIMIT 1)";

/// Of too many reports of all links, the oldest of the link with most makes room: what the others say of that link stays. If each link
/// has one, that of the address with most. Both databases want every parameter to be used.
const PRUNE_ALL: &str = "DELETE FROM reports WHERE (SELECT count(*) FROM reports) > $3 AND id IN (
        SELECT id FROM (
            SELECT id, address, count(*) OVER (PARTITION BY link_id) AS of_link,
                count(*) OVER (PARTITION BY address) AS of_reporter FROM reports
        ) AS counted WHERE id <> $2 AND $4 > 0
        ORDER BY of_link DESC, of_reporter DESC, address = $1 DESC, id LIMIT 1)";

/// All of them, each with how many are kept.
pub(super) const PRUNE: [(&str, i64); 3] = [
    (PRUNE_REPORTER, MAX_REPORTS_OF_REPORTER),
    (PRUNE_LINK, MAX_REPORTS_OF_LINK),
    (PRUNE_ALL, MAX_REPORTS),
];
