//! How many links of an owner have which status, in a bounded time.

use super::searching::{MAY_HAVE_ENDED, TAGGED, owned};
use super::sql::{Row, Values};
use super::{Store, StoreError};
use crate::domain::{LinkGroup, Principal, Timestamp};

/// Links that are looked at for a number: with more of them it is a least number.
pub const MAX_COUNTED: u64 = 10_000;

/// A number of links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkNumber {
    /// How many there are at least.
    pub links: u64,
    /// Whether there are no more.
    pub is_whole: bool,
}

/// The links of an owner by status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusCounts {
    /// All of them.
    pub all: LinkNumber,
    /// Those that are followed; `None` if that is not known.
    pub active: Option<u64>,
    /// Those that are switched off.
    pub paused: LinkNumber,
    /// Those whose time has not come.
    pub scheduled: LinkNumber,
    /// Those that are expired, used up or removed.
    pub ended: LinkNumber,
}

/// What a row is counted as.
const PAUSED: i64 = 1;
const SCHEDULED: i64 = 2;
const ENDED: i64 = 3;

/// A look at all links of a group, and the number of all links that is kept.
const ALL: i64 = 0;
const TOTAL: i64 = 9;

impl Store {
    /// How many links of a group have which status, by the clicks that are written back: at most [`MAX_COUNTED`] links are looked at
    /// for each number. Of all links of an owner only those are looked at that may be paused, scheduled or ended. Nothing of an
    /// owner whose account is gone or has another key.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn status_counts(
        &self,
        owner: Principal,
        group: &LinkGroup,
        now: Timestamp,
    ) -> Result<StatusCounts, StoreError> {
        let mut values = Values::default();
        let scope = owned(&mut values, &owner, group.tag.as_ref());
        let (user, key) = (values.name(owner.user), values.name(&owner.key));
        let (now, limit) = (values.name(now), MAX_COUNTED + 1);
        let clicks = self.clicks_of_link();
        let status = format!(
            "CASE WHEN removed_status IS NOT NULL THEN {ENDED} WHEN NOT is_active THEN {PAUSED}
                 WHEN starts_at > {now} THEN {SCHEDULED} WHEN expires_at <= {now} THEN {ENDED}
                 WHEN max_clicks IS NOT NULL AND max_clicks <= {clicks} THEN {ENDED} ELSE 0 END"
        );
        let tables = group.tag.as_ref().map_or("links", |_| TAGGED);
        let domain = group.domain.map(|domain| values.name(domain.number()));
        let domain = domain.map(|domain| format!(" AND links.domain = {domain}"));
        let domain = domain.unwrap_or_default();
        // The limit is part of the statement, as in searches.
        let scan = |scan: i64, narrowed: &str| {
            format!(
                "SELECT CAST({scan} AS bigint) AS scan, CAST(status AS bigint) AS status, count(*) AS links FROM (
                     SELECT {status} AS status FROM {tables} WHERE {scope}{domain}{narrowed} LIMIT {limit}) AS looked
                 GROUP BY status"
            )
        };
        let count = if group.is_all() {
            let total = format!(
                "SELECT CAST({TOTAL} AS bigint), CAST(0 AS bigint), links FROM link_totals
                 WHERE owner_id = (SELECT user_id FROM account_keys WHERE user_id = {user} AND key = {key})"
            );
            [
                scan(PAUSED, " AND NOT links.is_active"),
                scan(SCHEDULED, " AND links.starts_at IS NOT NULL"),
                scan(ENDED, MAY_HAVE_ENDED),
                total,
            ]
            .join(" UNION ALL ")
        } else {
            scan(ALL, "")
        };
        let count = values.query(count);
        counts(&self.engine.read(count.of_search()).await?)
    }
}

fn counts(rows: &[Row]) -> Result<StatusCounts, StoreError> {
    let mut found = Vec::new();
    for row in rows {
        let (scan, status): (i64, i64) = (row.get("scan")?, row.get("status")?);
        let links: i64 = row.get("links")?;
        found.push((scan, status, links.unsigned_abs()));
    }
    let sum = |wanted: &dyn Fn(i64, i64) -> bool| -> u64 {
        let wanted = found
            .iter()
            .filter(|(scan, status, _)| wanted(*scan, *status));
        wanted.map(|(.., links)| links).sum()
    };
    let total = found.iter().find(|(scan, ..)| *scan == TOTAL);
    let number = |wanted: i64| {
        let scan = if total.is_some() { wanted } else { ALL };
        LinkNumber {
            links: sum(&|of, status| of == scan && status == wanted),
            is_whole: sum(&|of, _| of == scan) <= MAX_COUNTED,
        }
    };
    let (paused, scheduled, ended) = (number(PAUSED), number(SCHEDULED), number(ENDED));
    let all = match total {
        Some((.., links)) => LinkNumber {
            links: *links,
            is_whole: true,
        },
        None => LinkNumber {
            links: sum(&|_, _| true).min(MAX_COUNTED),
            is_whole: paused.is_whole,
        },
    };
    let others = [paused, scheduled, ended];
    let is_known = all.is_whole && others.iter().all(|number| number.is_whole);
    let others: u64 = others.iter().map(|number| number.links).sum();
    Ok(StatusCounts {
        all,
        active: is_known.then(|| all.links.saturating_sub(others)),
        paused,
        scheduled,
        ended,
    })
}
