//! Reports of links by visitors.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::administered::number;
use super::administration::note;
use super::domain_list::with_host;
use super::sql::{Row, query};
use super::{Actor, Store, StoreError};
use crate::domain::{
    LinkReport, Newest, NewestWanted, Reason, Report, ReportState, ReportedLink, ReportsWanted,
    ShortCode, Timestamp,
};

/// Reports that are kept of one link.
const MAX_REPORTS_OF_LINK: i64 = 20;

/// Reports that are kept of all links: some ten megabytes.
const MAX_REPORTS: i64 = 10_000;

/// Reports that are kept of one link by one address.
const MAX_REPORTS_OF_REPORTER: i64 = 2;

/// Closed reports that are kept of one link, and of all links. They take no room of open ones.
const MAX_CLOSED_OF_LINK: i64 = 20;
const MAX_CLOSED: i64 = 10_000;

/// Closed reports above the bound of all links that are removed with one more.
const MAX_CLOSED_AT_ONCE: i64 = 100;

/// Of too many reports of one link by one address, the newest are kept. `$1` is the reporter, `$2` the new report, `$3` how many
/// are kept, and `$4` the link; so in the two below. Only open ones
/// count.
const PRUNE_REPORTER: &str =
    "DELETE FROM reports WHERE link_id = $4 AND address = $1 AND closed_at IS NULL AND id <> $2 AND id NOT IN (
        SELECT id FROM reports WHERE link_id = $4 AND address = $1 AND closed_at IS NULL ORDER BY id DESC LIMIT $3)";

/// Of too many reports of one link, the oldest of the address that has most makes room, rather that of the new report than
/// another: so if each has one, the oldest of all.
const PRUNE_LINK: &str =
    "DELETE FROM reports WHERE (SELECT count(*) FROM reports WHERE link_id = $4 AND closed_at IS NULL) > $3 AND id IN (
        SELECT min(id) FROM reports WHERE link_id = $4 AND closed_at IS NULL AND id <> $2
        GROUP BY address ORDER BY count(*) DESC, address = $1 DESC, min(id) LIMIT 1)";

/// Of too many reports of all links, the oldest of the link with most makes room: what the others say of that link stays. If each link
/// has one, that of the address with most. Both databases want every parameter to be used.
const PRUNE_ALL: &str = "DELETE FROM reports WHERE (SELECT count(*) FROM reports) > $3 AND id IN (
        SELECT id FROM (
            SELECT id, address, count(*) OVER (PARTITION BY link_id) AS of_link,
                count(*) OVER (PARTITION BY address) AS of_reporter FROM reports WHERE closed_at IS NULL
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

    /// Closes a report, and with `earlier` all open reports of its link that came before it; notes that for the audit. `false`: no
    /// open report has this number.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn close_report(
        &self,
        report: i64,
        earlier: bool,
        by: Actor<'_>,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let closed = self.engine.transaction(async |connection| {
            let find = query(
                "SELECT link_id, short_code FROM reports JOIN links ON links.id = link_id
                 WHERE reports.id = $1 AND closed_at IS NULL",
            );
            let Some(row) = connection.optional(find.bind(report)).await? else {
                return Ok(false);
            };
            let (link, code): (i64, ShortCode) = (row.get("link_id")?, row.get("short_code")?);
            let close = query(
                "UPDATE reports SET closed_at = $4 WHERE link_id = $1 AND id BETWEEN $2 AND $3 AND closed_at IS NULL
                 RETURNING id, reason",
            );
            let first = if earlier { 0 } else { report };
            let close = close.bind(link).bind(first).bind(report).bind(at);
            let mut reasons: Vec<(i64, String)> = Vec::new();
            for row in connection.all(close).await? {
                reasons.push((row.get("id")?, row.get("reason")?));
            }
            reasons.sort_unstable();
            let subject = format!("link {}", with_host(connection, &code).await?);
            for (_, reason) in &reasons {
                note(connection, by, at, "close_report", &subject, reason).await?;
            }
            for prune in [
                query(
                    "DELETE FROM reports WHERE link_id = $1 AND closed_at IS NOT NULL AND id NOT IN (
                         SELECT id FROM reports WHERE link_id = $1 AND closed_at IS NOT NULL ORDER BY id DESC LIMIT $2)",
                )
                .bind(link)
                .bind(MAX_CLOSED_OF_LINK),
                query(
                    "DELETE FROM reports WHERE id IN (
                         SELECT id FROM reports WHERE closed_at IS NOT NULL
                         ORDER BY closed_at DESC, id DESC LIMIT $1 OFFSET $2)",
                )
                .bind(MAX_CLOSED_AT_ONCE)
                .bind(MAX_CLOSED),
            ] {
                connection.execute(prune).await?;
            }
            Ok(!reasons.is_empty())
        });
        closed.await
    }

    /// Links with reports, each with the reports that are kept of it: 40 at most.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn reported_links(
        &self,
        wanted: &ReportsWanted,
    ) -> Result<Newest<ReportedLink>, StoreError> {
        let find = query(match wanted.state {
            ReportState::Open => {
                "SELECT link_id, max(id) AS newest FROM reports WHERE closed_at IS NULL
                 GROUP BY link_id HAVING max(id) < $1 ORDER BY 2 DESC LIMIT $2"
            }
            ReportState::Closed => {
                "SELECT link_id, max(id) AS newest FROM reports WHERE closed_at IS NOT NULL
                 GROUP BY link_id HAVING max(id) < $1 ORDER BY 2 DESC LIMIT $2"
            }
        });
        let before = wanted.before.unwrap_or(i64::MAX);
        let find = find.bind(before).bind(wanted.limit.saturating_add(1));
        let mut places: Vec<(i64, i64)> = Vec::new();
        for row in self.engine.read(find).await? {
            places.push((row.get("newest")?, row.get("link_id")?));
        }
        let is_full = places.len() > wanted.limit as usize;
        places.truncate(wanted.limit as usize);
        let next = places.last().filter(|_| is_full).map(|(newest, _)| *newest);
        let ids: Vec<i64> = places.iter().map(|(_, link)| *link).collect();
        let mut reports = self.reports_by_link(&ids).await?;
        let find = query(
            "SELECT links.id AS id, short_code, target_url, fallback_url, rules, removed_status,
                 links.password_hash IS NOT NULL AS has_password, links.created_at AS created_at, owner_id, email,
                 EXISTS (SELECT 1 FROM banned_users WHERE user_id = owner_id) AS is_banned,
                 (SELECT count(*) FROM (
                     SELECT 1 FROM links AS others WHERE others.owner_id = links.owner_id AND others.removed_status IS NOT NULL
                     LIMIT 1000) AS removed) AS removed_links
             FROM links JOIN users ON users.id = owner_id WHERE links.id IN (SELECT CAST(value AS bigint) FROM json_each($1))",
        );
        let mut entries = Vec::with_capacity(places.len());
        for row in self.engine.read(find.bind(&ids[..])).await? {
            let link: i64 = row.get("id")?;
            let place = places.iter().find(|(_, id)| *id == link);
            let newest = place.map_or(0, |(newest, _)| *newest);
            let reports = reports.remove(&link).unwrap_or_default();
            entries.push(reported_link(&row, newest, reports)?);
        }
        entries.sort_unstable_by_key(|link| Reverse(link.newest));
        Ok(Newest { entries, next })
    }

    /// The reports of these links, newest first.
    async fn reports_by_link(
        &self,
        links: &[i64],
    ) -> Result<HashMap<i64, Vec<LinkReport>>, StoreError> {
        let find = query(
            "SELECT id, link_id, reason, address, reported_at, closed_at FROM reports
             WHERE link_id IN (SELECT CAST(value AS bigint) FROM json_each($1)) ORDER BY id DESC",
        );
        let mut of_links: HashMap<_, Vec<_>> = HashMap::new();
        for row in self.engine.read(find.bind(links)).await? {
            let link: i64 = row.get("link_id")?;
            of_links.entry(link).or_default().push(LinkReport {
                id: row.get("id")?,
                reason: row.get("reason")?,
                reporter: row.get("address")?,
                reported_at: row.get("reported_at")?,
                closed_at: row.get("closed_at")?,
            });
        }
        Ok(of_links)
    }

    /// Open reports of links.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn reports(&self, wanted: &NewestWanted) -> Result<Newest<Report>, StoreError> {
        let find = query(
            "SELECT reports.id, short_code, target_url, fallback_url, rules, removed_status, reason, address, reported_at,
                 password_hash IS NOT NULL AS has_password
             FROM reports JOIN links ON links.id = link_id WHERE reports.id < $1 AND closed_at IS NULL ORDER BY reports.id DESC LIMIT $2",
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

fn reported_link(
    row: &Row,
    newest: i64,
    reports: Vec<LinkReport>,
) -> Result<ReportedLink, StoreError> {
    Ok(ReportedLink {
        newest,
        code: row.get("short_code")?,
        target: row.get("target_url")?,
        fallback: row.get("fallback_url")?,
        rules: row.get("rules")?,
        removed: row.get("removed_status")?,
        has_password: row.get("has_password")?,
        created_at: row.get("created_at")?,
        owner: row.get("owner_id")?,
        email: row.get("email")?,
        is_banned: row.get("is_banned")?,
        removed_links: number(row, "removed_links")?,
        reports,
    })
}
