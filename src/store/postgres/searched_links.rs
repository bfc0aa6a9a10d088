//! Searches in an owner's links in Postgres.

use sqlx::{Postgres, QueryBuilder};

use super::PostgresStore;
use crate::domain::{LinkFilter, LinkStatus, Principal, Timestamp};
use crate::store::scanned::scanned;
use crate::store::{LinkSearch, ScannedLinks, StoreError};

/// All that a text is looked for in.
macro_rules! link_text {
    () => {
        r"links.short_code || E'\x1f' || links.target_url || E'\x1f' || links.title"
    };
}

/// The rows of `looked_at` in one text, as `scanned` takes them apart: rows of their own would cost several times as much.
macro_rules! in_one_text {
    () => {
        r"SELECT string_agg(key || E'\x1f' || id || E'\x1f' || text, E'\x1e') FROM "
    };
}

pub(super) use {in_one_text, link_text};

pub(super) type Query = QueryBuilder<Postgres>;

impl PostgresStore {
    pub(super) async fn scan(
        &self,
        owner: Principal,
        search: &LinkSearch<'_>,
    ) -> Result<ScannedLinks, StoreError> {
        let rows = self.in_one_text(by_moment(owner, search)).await?;
        scanned(rows.as_deref(), search.filter.text.as_ref(), search.limit).await
    }

    pub(super) async fn by_clicks(
        &self,
        owner: Principal,
        search: &LinkSearch<'_>,
    ) -> Result<ScannedLinks, StoreError> {
        let rows = self.in_one_text(by_clicks(owner, search)).await?;
        scanned(rows.as_deref(), None, search.limit).await
    }

    /// What a query of `in_one_text` returns.
    pub(super) async fn in_one_text(&self, mut query: Query) -> Result<Option<String>, StoreError> {
        let rows = self
            .pool
            .search(async |session| query.build_query_scalar().fetch_one(session).await);
        Ok(rows.await?)
    }
}

/// The next rows by moments, each with its text if it has the wanted tag and status.
fn by_moment(owner: Principal, search: &LinkSearch<'_>) -> Query {
    let (source, moment, id) = match &search.filter.tag {
        Some(_) => (
            "link_tags tagged JOIN links ON links.id = tagged.link_id",
            "tagged.created_at",
            "tagged.link_id",
        ),
        None => ("links", "links.created_at", "links.id"),
    };
    let (direction, later) = direction(search);
    let mut query = Query::new(concat!(
        in_one_text!(),
        "(SELECT links.created_at AS key, links.id, CASE WHEN "
    ));
    push_filter(&mut query, search.filter, search.now);
    query.push(format_args!(
        " THEN {} ELSE '' END AS text FROM {source} WHERE ",
        wanted_text(search.filter)
    ));
    push_owner(&mut query, owner, search.filter);
    if let Some(after) = search.after {
        query.push(format_args!(" AND ({moment}, {id}) {later} ("));
        query.push_bind(after.key).push(", ");
        query.push_bind(after.id.number()).push(")");
    }
    query.push(narrowing(search.filter));
    // Not a parameter: a plan for any number of rows would sort all links of the owner.
    query.push(format_args!(
        " ORDER BY {moment} {direction}, {id} {direction} LIMIT {}) looked_at",
        search.limit
    ));
    query
}

/// What is read of a row that has the wanted tag and status: without a text to look for, only that it has.
fn wanted_text(filter: &LinkFilter) -> &'static str {
    match filter.text {
        Some(_) => link_text!(),
        None => "'+'",
    }
}

/// Positions by the clicks that are written back. All links of the owner are looked at: an index of clicks would have to
/// be changed with every click that is written back. An owner of many links has an order that the service keeps.
fn by_clicks(owner: Principal, search: &LinkSearch<'_>) -> Query {
    const CLICKS: &str = "coalesce(counted.clicks, 0)";
    let (direction, later) = direction(search);
    let source = match &search.filter.tag {
        Some(_) => "link_tags tagged JOIN links ON links.id = tagged.link_id",
        None => "links",
    };
    let mut query = Query::new(format!(
        "{}(SELECT {CLICKS} AS key, links.id, '+' AS text FROM {source} LEFT JOIN link_clicks counted ON counted.link_id = links.id WHERE ",
        in_one_text!()
    ));
    push_owner(&mut query, owner, search.filter);
    if let Some(after) = search.after {
        query.push(format_args!(" AND ({CLICKS}, links.id) {later} ("));
        query.push_bind(after.key).push(", ");
        query.push_bind(after.id.number()).push(")");
    }
    query.push(narrowing(search.filter)).push(" AND ");
    push_filter(&mut query, search.filter, search.now);
    query.push(format_args!(
        " ORDER BY key {direction}, links.id {direction} LIMIT "
    ));
    query.push_bind(i64::from(search.limit)).push(") looked_at");
    query
}

/// The direction of the order, and how later rows compare with earlier ones.
fn direction(search: &LinkSearch<'_>) -> (&'static str, &'static str) {
    if search.order.is_falling() {
        ("DESC", "<")
    } else {
        ("ASC", ">")
    }
}

/// Links, or tags of links, of this owner.
pub(super) fn push_owner(query: &mut Query, owner: Principal, filter: &LinkFilter) {
    let table = if filter.tag.is_some() {
        "tagged"
    } else {
        "links"
    };
    query.push(format_args!(
        "{table}.owner_id = (SELECT user_id FROM account_keys WHERE user_id = "
    ));
    query.push_bind(owner.user.0).push(" AND key = ");
    query.push_bind(owner.key.as_bytes().to_vec()).push(")");
    if let Some(tag) = &filter.tag {
        query.push(" AND tagged.tag = ");
        query.push_bind(tag.as_str().to_owned());
    }
}

/// Conditions that have an index of their own: links of a rare status are found without a look at all others. Among those with a
/// tag there is no such index: to find few, all of the tag would be looked at in one step.
pub(super) fn narrowing(filter: &LinkFilter) -> &'static str {
    if filter.tag.is_some() {
        return "";
    }
    match filter.status {
        Some(LinkStatus::Inactive) => " AND NOT links.is_active",
        Some(LinkStatus::Expired) => " AND links.expires_at IS NOT NULL",
        Some(LinkStatus::UsedUp) => " AND links.max_clicks IS NOT NULL",
        Some(LinkStatus::Removed) => " AND links.removed_status IS NOT NULL",
        Some(LinkStatus::Active) | None => "",
    }
}

/// Whether a row of `links` has the wanted status.
pub(super) fn push_filter(query: &mut Query, filter: &LinkFilter, now: Timestamp) {
    const IS_USED_UP: &str = "max_clicks IS NOT NULL
         AND max_clicks <= coalesce((SELECT clicks FROM link_clicks WHERE link_id = links.id), 0)";
    query.push("(true");
    if filter.status == Some(LinkStatus::Removed) {
        query.push(" AND removed_status IS NOT NULL");
    } else if let Some(status) = filter.status {
        query.push(" AND removed_status IS NULL");
        let is_active = status != LinkStatus::Inactive;
        query.push(format_args!(" AND is_active = {is_active}"));
        if is_active {
            let is_expired = status == LinkStatus::Expired;
            query.push(" AND (expires_at IS NOT NULL AND expires_at <= ");
            query.push_bind(now.micros());
            query.push(format_args!(") = {is_expired}"));
            if !is_expired {
                let is_used_up = status == LinkStatus::UsedUp;
                query.push(format_args!(" AND ({IS_USED_UP}) = {is_used_up}"));
            }
        }
    }
    query.push(")");
}
