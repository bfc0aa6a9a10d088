//! Searches in an owner's links in SQLite.

use sqlx::sqlite::SqliteRow;
use sqlx::{Connection, FromRow, QueryBuilder, Row, Sqlite};

use super::{SqliteStore, link_columns};
use crate::domain::{LinkFilter, LinkStatus, Principal, SearchText, Timestamp};
use crate::store::rows::{self, LinkRow, ScannedRow};
use crate::store::search::{MAX_SCANNED, Pattern};
use crate::store::{FoundLinks, LinkSearch, Position, StoreError, ToCount};

/// All that a text is looked for in. The fields have no control characters, so that no text is found across two of them.
macro_rules! link_text {
    () => {
        "(short_code || char(10) || target_url || char(10) || title)"
    };
}

/// Whether a text has another one in it, in any case: the parameters are those of `Pattern::parameters`.
macro_rules! has_text {
    ($text:expr, $folded:literal, $glob:literal) => {
        concat!(
            "(",
            $folded,
            " IS NULL OR instr(lower(",
            $text,
            "), ",
            $folded,
            ") > 0)
             AND (",
            $glob,
            " IS NULL OR ",
            $text,
            " GLOB ",
            $glob,
            ")"
        )
    };
}

pub(super) use {has_text, link_text};

pub(super) type Query = QueryBuilder<Sqlite>;

impl SqliteStore {
    pub(super) async fn search(
        &self,
        owner: Principal,
        search: &LinkSearch<'_>,
    ) -> Result<ToCount<FoundLinks>, StoreError> {
        let mut reader = self.reader.get().await?;
        // One snapshot for both statements.
        let mut snapshot = reader.begin().await?;
        let mut query = if search.order.is_by_clicks() {
            by_clicks(owner, search)
        } else {
            by_moment(owner, search)
        };
        let found = query.build().fetch_all(&mut *snapshot).await?;
        let found = found.iter().map(scanned).collect::<Result<_, _>>()?;
        let mut found = rows::found(owner.user, found, search.limit)?;
        if found.value.next.is_none() && !search.order.is_by_clicks() {
            let last: Option<(i64, i64)> = last_scanned(owner, search)
                .build_query_as()
                .fetch_optional(&mut *snapshot)
                .await?;
            if let Some((key, id)) = last {
                let id = rows::link_id(id)?;
                found.value.next = Some(Position { key, id });
            }
        }
        snapshot.rollback().await?;
        Ok(found)
    }
}

fn scanned(row: &SqliteRow) -> Result<ScannedRow, sqlx::Error> {
    Ok(ScannedRow {
        link: LinkRow::from_row(row)?,
        key: row.try_get("sort_key")?,
        is_last: false,
        is_match: true,
    })
}

/// One page by moments.
fn by_moment(owner: Principal, search: &LinkSearch<'_>) -> Query {
    let (moment, id) = keys(search);
    let mut query = Query::new(concat!(
        "SELECT ",
        link_columns!(),
        ", links.created_at AS sort_key FROM (SELECT links.* FROM "
    ));
    push_source(&mut query, owner, search, moment, id);
    push_order(&mut query, search, moment, id);
    query.push(format_args!(" LIMIT {MAX_SCANNED}) AS links WHERE "));
    // The rows come in the order of the inner query; a second order would make SQLite read all of them first.
    push_filter(&mut query, search.filter, search.now);
    query.push(" LIMIT ");
    query.push_bind(i64::from(search.limit) + 1);
    query
}

/// The last row that a page by moments looks at, where there are so many.
fn last_scanned(owner: Principal, search: &LinkSearch<'_>) -> Query {
    let (moment, id) = keys(search);
    let mut query = Query::new(format!("SELECT {moment}, {id} FROM "));
    push_source(&mut query, owner, search, moment, id);
    push_order(&mut query, search, moment, id);
    query.push(format_args!(" LIMIT 1 OFFSET {}", MAX_SCANNED - 1));
    query
}

/// One page by the clicks that are written back. All links of the owner are looked at: an index of clicks would have to
/// be changed with every click that is written back. An owner of many links has an order that the service keeps.
fn by_clicks(owner: Principal, search: &LinkSearch<'_>) -> Query {
    let mut query = Query::new(concat!(
        "SELECT ",
        link_columns!(),
        ", links.clicks AS sort_key FROM "
    ));
    push_source(&mut query, owner, search, "links.clicks", "links.id");
    query.push(" AND ");
    push_filter(&mut query, search.filter, search.now);
    push_order(&mut query, search, "links.clicks", "links.id");
    query.push(" LIMIT ");
    query.push_bind(i64::from(search.limit) + 1);
    query
}

/// The columns of the order by moments: those of the tags' index, where a tag is wanted.
fn keys(search: &LinkSearch<'_>) -> (&'static str, &'static str) {
    match search.filter.tag {
        Some(_) => ("tagged.created_at", "tagged.link_id"),
        None => ("links.created_at", "links.id"),
    }
}

/// Links, or tags of links, of this owner.
pub(super) fn push_owner(query: &mut Query, owner: Principal, filter: &LinkFilter) {
    let (source, table) = if filter.tag.is_some() {
        (
            "link_tags AS tagged JOIN links ON links.id = tagged.link_id",
            "tagged",
        )
    } else {
        ("links", "links")
    };
    query.push(source);
    query.push(format_args!(
        " WHERE {table}.owner_id = (SELECT user_id FROM account_keys WHERE user_id = "
    ));
    query.push_bind(owner.user.0).push(" AND key = ");
    query.push_bind(owner.key.as_bytes().to_vec()).push(")");
    if let Some(tag) = &filter.tag {
        query.push(" AND tagged.tag = ");
        query.push_bind(tag.as_str().to_owned());
    }
}

/// The owner's links after the position, by way of the index that has the fewest others.
fn push_source(query: &mut Query, owner: Principal, search: &LinkSearch<'_>, key: &str, id: &str) {
    push_owner(query, owner, search.filter);
    if let Some(after) = search.after {
        let later = if search.order.is_falling() { "<" } else { ">" };
        query.push(format_args!(" AND ({key}, {id}) {later} ("));
        query.push_bind(after.key).push(", ");
        query.push_bind(after.id.number()).push(")");
    }
    query.push(narrowing(search.filter));
}

/// Conditions that have an index of their own: links of a rare status are found without a look at all others.
pub(super) fn narrowing(filter: &LinkFilter) -> &'static str {
    match filter.status {
        Some(LinkStatus::Inactive) => " AND NOT links.is_active AND links.removed_status IS NULL",
        Some(LinkStatus::Expired) => " AND links.expires_at IS NOT NULL",
        Some(LinkStatus::UsedUp) => " AND links.max_clicks IS NOT NULL",
        Some(LinkStatus::Removed) => " AND links.removed_status IS NOT NULL",
        Some(LinkStatus::Active) | None => "",
    }
}

fn push_order(query: &mut Query, search: &LinkSearch<'_>, key: &str, id: &str) {
    let direction = if search.order.is_falling() {
        "DESC"
    } else {
        "ASC"
    };
    query.push(format_args!(
        " ORDER BY {key} {direction}, {id} {direction}"
    ));
}

/// Whether a row of `links` is wanted.
pub(super) fn push_filter(query: &mut Query, filter: &LinkFilter, now: Timestamp) {
    const IS_USED_UP: &str = "(max_clicks IS NOT NULL AND max_clicks <= clicks)";
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
                query.push(format_args!(" AND {IS_USED_UP} = {is_used_up}"));
            }
        }
    }
    if let Some(text) = &filter.text {
        query.push(" AND ");
        push_text(query, text);
    }
    query.push(")");
}

fn push_text(query: &mut Query, text: &SearchText) {
    match Pattern::of(text) {
        Pattern::Folded(folded) => {
            query.push(concat!("instr(lower(", link_text!(), "), "));
            query.push_bind(folded).push(") > 0");
        }
        Pattern::Classes(classes) => {
            query.push(concat!(link_text!(), " GLOB "));
            query.push_bind(glob(&classes));
        }
    }
}

/// A pattern of classes of characters.
pub(super) fn glob(classes: &[Vec<char>]) -> String {
    let mut glob = String::from("*");
    for class in classes {
        match class.as_slice() {
            [char] if !matches!(char, '*' | '?' | '[') => glob.push(*char),
            chars => {
                glob.push('[');
                glob.extend(chars);
                glob.push(']');
            }
        }
    }
    glob.push('*');
    glob
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_in_a_glob_are_themselves() {
        let classes = [vec!['*'], vec!['ä', 'Ä'], vec![']'], vec!['[']];
        assert_eq!(glob(&classes), "*[*][äÄ]][[]*");
    }
}
