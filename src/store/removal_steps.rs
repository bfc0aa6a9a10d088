//! The work of removals on links: small steps, each in one transaction.

use std::time::Duration;

use super::connection::Connection;
use super::outbox::newest_changes;
use super::sql::{Query, Row, query, query_of_each};
use super::{Change, Store, StoreError};
use crate::domain::{Aliases, RemovalId, Rules, ShortCode, Timestamp, UserId};

/// Links that are scanned in one step; each of them may be changed.
pub const SCANNED_IN_STEP: u32 = 500;

/// How long after the first scan there is a second one: no statement of an instance that did not know of the removal yet lasts so
/// long.
const RESCAN_AFTER: Duration = Duration::from_mins(1);

/// Between the URLs and the rules of a link. None of them has it.
const SEPARATOR: char = '\u{1f}';

/// A link that is scanned for a removal.
#[derive(Clone, Copy, Debug)]
pub struct Scanned<'a> {
    /// The removal's kind.
    pub kind: &'a str,
    /// The removal's value; of the blocklist, its digest.
    pub value: &'a str,
    /// A URL to which the link leads, or the address that it was made from.
    pub text: &'a str,
}

/// Whether a removal covers a link. `None`: this instance cannot say so, and leaves the removal to another one.
pub type IsCovered<'a> = &'a (dyn Fn(Scanned<'_>) -> Option<bool> + Send + Sync);

/// A step of a removal's work on its links.
#[derive(Clone, Debug, Default)]
pub struct Step {
    /// The changes to announce.
    pub changes: Vec<Change>,
    /// How many links were scanned.
    pub scanned: usize,
}

/// Removals whose links are to be scanned now.
macro_rules! to_scan {
    () => {
        "SELECT id, kind, coalesce(digest, value) AS value, revoked_at IS NOT NULL AS is_revoked, scan_position,
             rescan_at IS NOT NULL AS is_rescan
         FROM removals WHERE scan_position IS NOT NULL AND (rescan_at IS NULL OR rescan_at <= $1) ORDER BY id LIMIT 20"
    };
}

/// Whether a removal covers a link already.
macro_rules! is_covered {
    ($link:literal) => {
        concat!(
            "EXISTS (SELECT 1 FROM link_removals AS own WHERE own.link_id = ",
            $link,
            " AND own.removal_id = $1)"
        )
    };
}

/// A removal whose links are scanned.
struct Scan {
    removal: RemovalId,
    kind: String,
    value: String,
    is_revoked: bool,
    position: i64,
    is_rescan: bool,
}

/// A link that may be covered.
struct Candidate {
    link: i64,
    /// Where it is in the order of the scan.
    position: i64,
    /// As [`Scanned::text`]; several are separated by [`SEPARATOR`].
    text: String,
    is_covered: bool,
}

impl Store {
    /// Whether all links that a removal covers, or covered, are scanned. A second scan, for links that were being created, may
    /// remain.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn is_scanned(&self, id: RemovalId) -> Result<bool, StoreError> {
        let find = query(
            "SELECT scan_position IS NULL OR rescan_at IS NOT NULL AS is_scanned FROM removals WHERE id = $1",
        );
        let found = self.engine.read_one(find.bind(id)).await?;
        found.map_or(Ok(true), |row| row.get("is_scanned"))
    }

    /// Scans up to [`SCANNED_IN_STEP`] links of a removal, in one short transaction. `None`: there is nothing to do now, or other
    /// instances are at it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn scan_for_removals(
        &self,
        is_covered: IsCovered<'_>,
        now: Timestamp,
    ) -> Result<Option<Step>, StoreError> {
        let waiting = self.engine.read_one(query(to_scan!()).bind(now));
        if waiting.await?.is_none() {
            return Ok(None);
        }
        // What another instance is at is passed over; an SQLite file has no other instance.
        let take = query_of_each(concat!(to_scan!(), " FOR UPDATE SKIP LOCKED"), to_scan!());
        let take = take.bind(now);
        let step = self.engine.transaction(async |connection| {
            for row in connection.all(take).await? {
                let step = scan(&row)?.step(connection, is_covered, now).await?;
                if step.is_some() {
                    return Ok(step);
                }
            }
            Ok(None)
        });
        step.await
    }
}

impl Scan {
    /// `None`: this instance cannot say what the removal covers.
    async fn step(
        &self,
        connection: &mut Connection<'_>,
        is_covered: IsCovered<'_>,
        now: Timestamp,
    ) -> Result<Option<Step>, StoreError> {
        let found = connection.all(self.next()).await?;
        let found: Result<Vec<_>, _> = found.iter().map(candidate).collect();
        let found = found?;
        let (mut to_cover, mut to_restore) = (Vec::new(), Vec::new());
        for candidate in &found {
            let Some(is_to_be) = self.covers(candidate, is_covered) else {
                return Ok(None);
            };
            if is_to_be && !candidate.is_covered {
                to_cover.push(candidate.link);
            } else if !is_to_be && candidate.is_covered {
                to_restore.push(candidate.link);
            }
        }
        let changes = set_covered(connection, self.removal, &to_cover, &to_restore).await?;
        let last = found
            .last()
            .filter(|_| found.len() == SCANNED_IN_STEP as usize);
        connection.execute(self.next_position(last, now)).await?;
        Ok(Some(Step {
            changes,
            scanned: found.len(),
        }))
    }

    /// Whether the removal is to cover a link from now on.
    fn covers(&self, candidate: &Candidate, is_covered: IsCovered<'_>) -> Option<bool> {
        if self.is_revoked {
            return Some(false);
        }
        if self.kind == "user" {
            return Some(true);
        }
        let is_covered = |text: &str| {
            is_covered(Scanned {
                kind: &self.kind,
                value: &self.value,
                text,
            })
        };
        let texts = candidate.text.split(SEPARATOR);
        let mut covered = texts.map(|text| match rules_in(text) {
            None => is_covered(text),
            Some(rules) => any_covered(rules.targets().map(|target| is_covered(target.as_str()))),
        });
        // One of the URLs is enough.
        any_covered(&mut covered)
    }

    /// The next links.
    fn next(&self) -> Query<'static> {
        let links = match self.kind.as_str() {
            _ if self.is_revoked => {
                "SELECT link_id AS link, link_id AS position, '' AS text, true AS is_covered FROM link_removals
                 WHERE removal_id = $1 AND link_id > $2 ORDER BY link_id LIMIT $3"
            }
            // By the index of the owner's list. Links of one moment are at most as many as one call makes.
            "user" => concat!(
                "SELECT id AS link, created_at AS position, '' AS text, false AS is_covered FROM links
                 WHERE owner_id = $4 AND created_at >= $2 AND NOT ",
                is_covered!("links.id"),
                " ORDER BY created_at, id LIMIT $3"
            ),
            "address" => concat!(
                "SELECT link_id AS link, link_id AS position, address AS text, ",
                is_covered!("link_addresses.link_id"),
                " AS is_covered FROM link_addresses WHERE link_id > $2 ORDER BY link_id LIMIT $3"
            ),
            _ => concat!(
                "SELECT id AS link, id AS position, target_url || coalesce('\u{1f}' || fallback_url, '') || coalesce('\u{1f}' || rules, '') AS text, ",
                is_covered!("links.id"),
                " AS is_covered FROM links WHERE alias_of IS NULL AND id > $2 ORDER BY id LIMIT $3"
            ),
        };
        let links = query(links).bind(self.removal).bind(self.position);
        let links = links.bind(SCANNED_IN_STEP);
        if self.kind == "user" && !self.is_revoked {
            return links.bind(UserId(self.value.parse().unwrap_or_default()));
        }
        links
    }

    /// Notes where the scan goes on: after `last`; without it, all over again in a while, or not any more.
    fn next_position(&self, last: Option<&Candidate>, now: Timestamp) -> Query<'static> {
        let is_last_scan = self.is_rescan || self.is_revoked;
        let position = match last {
            Some(last) => Some(last.position),
            None => (!is_last_scan).then_some(0),
        };
        let rescan_at = (last.is_none() && !is_last_scan).then(|| now.after(RESCAN_AFTER));
        query("UPDATE removals SET scan_position = $2, rescan_at = coalesce($3, rescan_at) WHERE id = $1")
            .bind(self.removal)
            .bind(position)
            .bind(rescan_at)
    }
}

/// What is not `Some(false)` decides.
fn any_covered(mut covered: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let decided = covered.find(|covered| *covered != Some(false));
    decided.unwrap_or(Some(false))
}

/// The rules of a link, which are JSON among its URLs: no URL begins so.
fn rules_in(text: &str) -> Option<Rules> {
    text.starts_with('[').then(|| Rules::from_stored(text))?
}

/// Changes which links a removal covers, and gives them the state that the removals that cover them make. Triggers note the
/// changes, which are returned. Links that are gone by now are passed over.
pub(super) async fn set_covered(
    connection: &mut Connection<'_>,
    removal: RemovalId,
    to_cover: &[i64],
    to_restore: &[i64],
) -> Result<Vec<Change>, StoreError> {
    let links = [to_cover, to_restore].concat();
    if links.is_empty() {
        return Ok(Vec::new());
    }
    let lock = query(
        "SELECT 1 FROM links WHERE id IN (SELECT CAST(value AS bigint) FROM json_each($1)) ORDER BY id FOR UPDATE",
    );
    connection.lock(lock.bind(&*links)).await?;
    let cover = query(
        "INSERT INTO link_removals (link_id, removal_id, status) SELECT links.id, removals.id, status FROM links, removals
         WHERE removals.id = $1 AND links.id IN (SELECT CAST(value AS bigint) FROM json_each($2)) ON CONFLICT DO NOTHING",
    );
    let restore = query(
        "DELETE FROM link_removals
         WHERE removal_id = $1 AND link_id IN (SELECT CAST(value AS bigint) FROM json_each($2))",
    );
    for (sql, links) in [(cover, to_cover), (restore, to_restore)] {
        if !links.is_empty() {
            connection.execute(sql.bind(removal).bind(links)).await?;
        }
    }
    let settle = query(
        "UPDATE links SET removed_status = (SELECT max(status) FROM link_removals WHERE link_id = links.id)
         WHERE id IN (SELECT CAST(value AS bigint) FROM json_each($1))
         AND removed_status IS DISTINCT FROM (SELECT max(status) FROM link_removals WHERE link_id = links.id)
         RETURNING short_code, aliases",
    );
    let settled = connection.all(settle.bind(&*links)).await?;
    let mut codes: Vec<ShortCode> = Vec::with_capacity(settled.len());
    for row in &settled {
        codes.push(row.get("short_code")?);
        let aliases: Aliases = row.get("aliases")?;
        codes.extend_from_slice(aliases.as_slice());
    }
    // Earlier changes of the same links have lower numbers, and no other transaction changes these links now.
    newest_changes(connection, &codes).await
}

fn scan(row: &Row) -> Result<Scan, StoreError> {
    Ok(Scan {
        removal: row.get("id")?,
        kind: row.get("kind")?,
        value: row.get("value")?,
        is_revoked: row.get("is_revoked")?,
        position: row.get("scan_position")?,
        is_rescan: row.get("is_rescan")?,
    })
}

fn candidate(row: &Row) -> Result<Candidate, StoreError> {
    Ok(Candidate {
        link: row.get("link")?,
        position: row.get("position")?,
        text: row.get("text")?,
        is_covered: row.get("is_covered")?,
    })
}
