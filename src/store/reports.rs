//! Reports of links by visitors.

use super::administration::note;
use super::domain_list::with_host;
use super::sql::{Row, query};
use super::{Actor, Store, StoreError};
use crate::domain::{Newest, NewestWanted, Reason, Report, ShortCode, Timestamp};

/// Reports that are kept of one link.
const MAX_REPORTS_OF_LINK: i64 = 20;

/// Reports that are kept of all links: some ten megabytes.
const MAX_REPORTS: i64 = 10_000;

/// Reports that are kept of one link by one address.
const MAX_REPORTS_OF_REPORTER: i64 = 2;

/// Of too many reports of one link by one address, the newest are kept. `$1` is the reporter, `$2` the new report, `$3` how many
/// are kept, and `$4` the link; so in the two below.
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

impl Store {
    /// Notes a report of a link by a hash of its reporter's address. Of too many, one report of the reporter who has most makes
    /// room. `false`: there is no such link.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn report(
        &self,
        code: &ShortCode,
        reason: &Reason,
        reporter: &str,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let done = self.engine.transaction(async |connection| {
            // Reports of one link are made one after the other.
            let lock = query(
                "SELECT 1 FROM links WHERE id = (SELECT link_id FROM link_codes WHERE code = $1) FOR NO KEY UPDATE",
            );
            connection.lock(lock.bind(code)).await?;
            let insert = query(
                "INSERT INTO reports (link_id, reason, address, reported_at)
                 SELECT id, $2, $3, $4 FROM live_links WHERE id = (SELECT link_id FROM link_codes WHERE code = $1)
                 RETURNING id, link_id",
            );
            let insert = insert.bind(code).bind(reason.as_str());
            let insert = insert.bind(reporter).bind(at);
            let Some(row) = connection.optional(insert).await? else {
                return Ok(false);
            };
            let (report, link): (i64, i64) = (row.get("id")?, row.get("link_id")?);
            for (sql, kept) in [
                (PRUNE_REPORTER, MAX_REPORTS_OF_REPORTER),
                (PRUNE_LINK, MAX_REPORTS_OF_LINK),
                (PRUNE_ALL, MAX_REPORTS),
            ] {
                let prune = query(sql).bind(reporter).bind(report);
                connection.execute(prune.bind(kept).bind(link)).await?;
            }
            Ok(true)
        });
        done.await
    }

    /// Removes a report, and notes that for the audit. `false`: there is no such report.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn close_report(
        &self,
        report: i64,
        by: Actor<'_>,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let close = query(
            "DELETE FROM reports WHERE id = $1
             RETURNING (SELECT short_code FROM links WHERE links.id = link_id) AS short_code, reason",
        );
        let close = close.bind(report);
        let closed = self.engine.transaction(async |connection| {
            let Some(row) = connection.optional(close).await? else {
                return Ok(false);
            };
            let code: ShortCode = row.get("short_code")?;
            let reason: String = row.get("reason")?;
            let code = with_host(connection, &code).await?;
            note(
                connection,
                by,
                at,
                "close_report",
                &format!("link {code}"),
                &reason,
            )
            .await?;
            Ok(true)
        });
        closed.await
    }

    /// Reports of links.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn reports(&self, wanted: &NewestWanted) -> Result<Newest<Report>, StoreError> {
        let find = query(
            "SELECT reports.id, short_code, target_url, fallback_url, rules, removed_status, reason, address, reported_at,
                 password_hash IS NOT NULL AS has_password
             FROM reports JOIN links ON links.id = link_id WHERE reports.id < $1 ORDER BY reports.id DESC LIMIT $2",
        );
        let find = find.bind(wanted.below()).bind(wanted.one_more());
        let found = self.engine.read(find).await?;
        let reports: Result<_, _> = found.iter().map(report).collect();
        Ok(Newest::of(reports?, wanted, |report: &Report| report.id))
    }
}

fn report(row: &Row) -> Result<Report, StoreError> {
    Ok(Report {
        id: row.get("id")?,
        code: row.get("short_code")?,
        target: row.get("target_url")?,
        fallback: row.get("fallback_url")?,
        rules: row.get("rules")?,
        removed: row.get("removed_status")?,
        has_password: row.get("has_password")?,
        reason: row.get("reason")?,
        reporter: row.get("address")?,
        reported_at: row.get("reported_at")?,
    })
}
