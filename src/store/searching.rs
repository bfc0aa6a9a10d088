//! Searches in an owner's links, step by step, in the order of time or of the clicks that are written back.

use super::engine::Engine;
use super::finding::{LINK_COLUMNS, links};
use super::scanned::{IN_ONE_TEXT, LINK_TEXT, scanned, with_text};
use super::sql::{Query, Values};
use super::{LinkSearch, ScannedLinks, Store, StoreError, ToCount};
use crate::domain::{
    Link, LinkFilter, LinkId, LinkStatus, Principal, SearchTag, StatusFilter, Timestamp,
};

impl Store {
    /// Looks at the next links of an owner, at most `limit` of them, in an order by moments. `used_up` goes by the clicks that
    /// are written back. Empty if the owner's account is gone or has another key.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn scan_links(
        &self,
        owner: Principal,
        search: &LinkSearch<'_>,
    ) -> Result<ScannedLinks, StoreError> {
        let (filter, limit) = (search.filter, search.limit);
        let (tables, moment, id) = match filter.tag {
            Some(_) => (TAGGED, "tagged.created_at", "tagged.link_id"),
            None => ("links", "links.created_at", "links.id"),
        };
        // Without a text to look for it is read only that a row matches.
        let text = filter.text.as_ref().map_or("'+'", |_| LINK_TEXT);
        let mut values = Values::default();
        let scope = owned(&mut values, &owner, filter.tag.as_ref());
        let from = after(&mut values, search, (moment, id));
        let matches = matches(&mut values, filter, search.now, self.clicks_of_link());
        let (narrowed, direction) = (narrowed(filter), direction(search));
        // The limit is no parameter: a plan for any number of rows would sort all links of the owner.
        let find = values.query(format!(
            "{IN_ONE_TEXT} (
                 SELECT links.created_at AS key, links.id AS id, CASE WHEN {matches} THEN {text} ELSE '' END AS text
                 FROM {tables} WHERE {scope}{from}{narrowed}
                 ORDER BY {moment} {direction}, {id} {direction} LIMIT {limit}) AS scanned"
        ));
        let rows = self.in_one_text(find.of_search()).await?;
        scanned(rows.as_deref(), filter.text.as_ref(), limit).await
    }

    /// The positions of an owner's links of this tag and status in an order by the clicks that are written back, at most
    /// `limit` of them; the text is left out. Reads all such links of the owner, as an index of clicks would have to be changed
    /// with every click that is written back: for owners of few. Empty if the owner's account is gone or has another key.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn links_by_clicks(
        &self,
        owner: Principal,
        search: &LinkSearch<'_>,
    ) -> Result<ScannedLinks, StoreError> {
        let filter = search.filter;
        let tables = filter.tag.as_ref().map_or("links", |_| TAGGED);
        let (clicks, counted) = self.engine.either(
            (
                "coalesce(counted.clicks, 0)",
                " LEFT JOIN link_clicks AS counted ON counted.link_id = links.id",
            ),
            ("links.clicks", ""),
        );
        let mut values = Values::default();
        let scope = owned(&mut values, &owner, filter.tag.as_ref());
        let from = after(&mut values, search, (clicks, "links.id"));
        let matches = matches(&mut values, filter, search.now, clicks);
        let limit = values.name(search.limit);
        let (narrowed, direction) = (narrowed(filter), direction(search));
        let find = values.query(format!(
            "{IN_ONE_TEXT} (
                 SELECT {clicks} AS key, links.id AS id, '+' AS text
                 FROM {tables}{counted} WHERE {scope}{from}{narrowed} AND {matches}
                 ORDER BY {clicks} {direction}, links.id {direction} LIMIT {limit}) AS scanned"
        ));
        let rows = self.in_one_text(find.of_search()).await?;
        scanned(rows.as_deref(), None, search.limit).await
    }

    /// Looks at the owner's links among these numbers; the matches come in any order, and their keys say nothing. None of an
    /// owner whose account is gone or has another key.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn scan_links_among(
        &self,
        owner: Principal,
        ids: &[LinkId],
        filter: &LinkFilter,
        now: Timestamp,
    ) -> Result<ScannedLinks, StoreError> {
        let mut values = Values::default();
        let wanted = self.wanted(&mut values, &owner, ids, filter);
        let matches = matches(&mut values, filter, now, self.clicks_of_link());
        let find = values.query(format!(
            "{IN_ONE_TEXT} (
                 SELECT wanted.key, links.id AS id, CASE WHEN {matches} THEN {LINK_TEXT} ELSE '' END AS text
                 FROM {wanted}) AS scanned"
        ));
        let rows = self.in_one_text(find.of_search()).await?;
        scanned(rows.as_deref(), filter.text.as_ref(), u32::MAX).await
    }

    /// The owner's links among these numbers that match, in the order of the numbers. Empty if the owner's
    /// account is gone or has another key.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn links_among(
        &self,
        owner: Principal,
        ids: &[LinkId],
        filter: &LinkFilter,
        now: Timestamp,
    ) -> Result<ToCount<Vec<Link>>, StoreError> {
        let mut values = Values::default();
        let wanted = self.wanted(&mut values, &owner, ids, filter);
        let matches = matches(&mut values, filter, now, self.clicks_of_link());
        let find = values.query(format!(
            "SELECT {LINK_COLUMNS} FROM {wanted} AND {matches} ORDER BY wanted.key"
        ));
        let found = self.engine.read(find.of_search()).await?;
        Ok(with_text(links(owner.user, &found)?, filter).await)
    }

    /// Whether an owner has at least so many links with this tag, and maybe of this status; the text is left out. `false` of an
    /// owner whose account is gone or has another key.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn has_links(
        &self,
        owner: Principal,
        filter: &LinkFilter,
        count: u32,
    ) -> Result<bool, StoreError> {
        let table = filter
            .tag
            .as_ref()
            .map_or("links", |_| "link_tags AS tagged");
        let mut values = Values::default();
        let scope = owned(&mut values, &owner, filter.tag.as_ref());
        let domain = filter.domain.map(|domain| values.name(domain.number()));
        let of_domain = match (domain, &filter.tag) {
            (None, _) => String::new(),
            (Some(domain), None) => format!(" AND links.domain = {domain}"),
            (Some(domain), Some(_)) => {
                format!(
                    " AND (SELECT domain FROM links WHERE links.id = tagged.link_id) = {domain}"
                )
            }
        };
        let (narrowed, limit) = (narrowed(filter), values.name(count));
        let find = values.query(format!(
            "SELECT count(*) AS links FROM (SELECT 1 FROM {table} WHERE {scope}{narrowed}{of_domain} LIMIT {limit}) AS found"
        ));
        let found = self.engine.read_one(find.of_search()).await?;
        let found: Option<i64> = found.map(|row| row.get("links")).transpose()?;
        Ok(found >= Some(count.into()))
    }

    /// The answer to a statement that begins with [`IN_ONE_TEXT`].
    pub(super) async fn in_one_text(&self, find: Query<'_>) -> Result<Option<String>, StoreError> {
        let found = self.engine.read_one(find).await?;
        found.map_or(Ok(None), |row| row.get("found"))
    }

    /// The clicks of a row of `links` that are written back.
    pub(super) fn clicks_of_link(&self) -> &'static str {
        self.engine.either(
            "coalesce((SELECT clicks FROM link_clicks WHERE link_id = links.id), 0)",
            "links.clicks",
        )
    }

    /// The owner's links with these numbers and the wanted tag, to be sorted by `wanted.key`.
    ///
    /// Rows are looked up one by one by their keys: for some thousands the planner of Postgres would rather read whole tables,
    /// with the links of all other owners. SQLite does a cross join in the order of its tables.
    fn wanted<'q>(
        &self,
        values: &mut Values<'q>,
        owner: &'q Principal,
        ids: &'q [LinkId],
        filter: &'q LinkFilter,
    ) -> String {
        let ids = values.name(ids);
        let links = match self.engine {
            // Numbers in this order need not be sorted.
            Engine::Postgres(_) => format!(
                "unnest(CAST(translate({ids}, '[]', '{{}}') AS bigint[])) WITH ORDINALITY AS wanted (value, key)
                 CROSS JOIN LATERAL (SELECT * FROM links WHERE id = wanted.value LIMIT 1) AS links"
            ),
            Engine::Sqlite(_) => {
                format!("json_each({ids}) AS wanted CROSS JOIN links ON links.id = wanted.value")
            }
        };
        let scope = owned(values, owner, None);
        // A tag is looked for in the link itself.
        let tag = filter.tag.as_ref().map(|tag| values.name(tag.as_str()));
        let tagged = tag.map_or_else(String::new, |tag| {
            format!(" AND {tag} IN (SELECT value FROM json_each(links.tags))")
        });
        format!("{links} WHERE {scope}{tagged}")
    }
}

/// Links by their tags, whose index has the order of a list.
pub(super) const TAGGED: &str = "link_tags AS tagged JOIN links ON links.id = tagged.link_id";

/// Links of this owner, or its links with a tag.
pub(super) fn owned<'q>(
    values: &mut Values<'q>,
    owner: &'q Principal,
    tag: Option<&'q SearchTag>,
) -> String {
    let (user, key) = (values.name(owner.user), values.name(&owner.key));
    let account =
        format!("(SELECT user_id FROM account_keys WHERE user_id = {user} AND key = {key})");
    match tag.map(|tag| values.name(tag.as_str())) {
        Some(tag) => format!("tagged.owner_id = {account} AND tagged.tag = {tag}"),
        None => format!("links.trashed_at = 0 AND links.owner_id = {account}"),
    }
}

/// What comes after the position, in the order of these columns.
fn after(values: &mut Values<'_>, search: &LinkSearch<'_>, columns: (&str, &str)) -> String {
    let Some(after) = search.after else {
        return String::new();
    };
    let later = if search.order.is_falling() { "<" } else { ">" };
    let (key, id) = (values.name(after.key), values.name(after.id));
    format!(" AND ({}, {}) {later} ({key}, {id})", columns.0, columns.1)
}

fn direction(search: &LinkSearch<'_>) -> &'static str {
    if search.order.is_falling() {
        "DESC"
    } else {
        "ASC"
    }
}

/// Links that may have ended have an index of their own.
pub(super) const MAY_HAVE_ENDED: &str = " AND (links.expires_at IS NOT NULL OR links.max_clicks IS NOT NULL OR links.removed_status IS NOT NULL)";

/// Conditions that have an index of their own: links of a rare status are found without a look at all others. Among those with a
/// tag there is no such index: to find few, all of the tag would be looked at in one step.
fn narrowed(filter: &LinkFilter) -> &'static str {
    if filter.tag.is_some() {
        return "";
    }
    if filter.domain.is_some_and(|domain| !domain.is_own()) {
        return " AND links.domain > 0";
    }
    let status = match filter.status {
        Some(StatusFilter::Only(status)) => status,
        Some(StatusFilter::Ended) => return MAY_HAVE_ENDED,
        None => return "",
    };
    match status {
        LinkStatus::Inactive => " AND NOT links.is_active",
        LinkStatus::Scheduled => " AND links.starts_at IS NOT NULL",
        LinkStatus::Expired => " AND links.expires_at IS NOT NULL",
        LinkStatus::UsedUp => " AND links.max_clicks IS NOT NULL",
        LinkStatus::Removed => " AND links.removed_status IS NOT NULL",
        LinkStatus::Active => "",
    }
}

/// Whether a row of `links` with these clicks is of the wanted host, and has the wanted status.
fn matches(values: &mut Values<'_>, filter: &LinkFilter, now: Timestamp, clicks: &str) -> String {
    let status = has_status(values, filter, now, clicks);
    match filter.domain {
        None => status,
        Some(domain) => format!(
            "links.domain = {} AND {status}",
            values.name(domain.number())
        ),
    }
}

/// Whether it has the wanted status, as [`Link::status`] says.
fn has_status(
    values: &mut Values<'_>,
    filter: &LinkFilter,
    now: Timestamp,
    clicks: &str,
) -> String {
    const IS_ON: &str = "removed_status IS NULL AND is_active";
    let mut now = || values.name(now);
    // The start is before the end.
    let has_time = |now: String| {
        format!(
            "(starts_at IS NULL OR starts_at <= {now}) AND (expires_at IS NULL OR expires_at > {now})"
        )
    };
    let status = match filter.status {
        None => return "true".to_owned(),
        Some(StatusFilter::Ended) => {
            let now = now();
            return format!(
                "(removed_status IS NOT NULL OR is_active AND (expires_at <= {now}
                     OR (starts_at IS NULL OR starts_at <= {now}) AND max_clicks IS NOT NULL AND max_clicks <= {clicks}))"
            );
        }
        Some(StatusFilter::Only(status)) => status,
    };
    match status {
        LinkStatus::Removed => "removed_status IS NOT NULL".to_owned(),
        LinkStatus::Inactive => "removed_status IS NULL AND NOT is_active".to_owned(),
        LinkStatus::Scheduled => format!("{IS_ON} AND starts_at > {}", now()),
        LinkStatus::Expired => format!("{IS_ON} AND expires_at <= {}", now()),
        LinkStatus::UsedUp => format!(
            "{IS_ON} AND {} AND max_clicks IS NOT NULL AND max_clicks <= {clicks}",
            has_time(now())
        ),
        LinkStatus::Active => format!(
            "{IS_ON} AND {} AND (max_clicks IS NULL OR max_clicks > {clicks})",
            has_time(now())
        ),
    }
}
