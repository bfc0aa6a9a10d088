//! Searches in an owner's links in Postgres.

use sqlx::postgres::PgRow;
use sqlx::{FromRow, Postgres, QueryBuilder, Row};

use super::{PostgresStore, link_columns, micros};
use crate::domain::{LinkFilter, LinkStatus, Principal, SearchText, Timestamp};
use crate::store::rows::{self, LinkRow, ScannedRow};
use crate::store::search::{MAX_SCANNED, Pattern};
use crate::store::{FoundLinks, LinkSearch, StoreError, ToCount};

/// All that a text is looked for in. The fields have no control characters, so that no text is found across two of them.
macro_rules! link_text {
    () => {
        r"(short_code || E'\n' || target_url || E'\n' || title)"
    };
}

/// Whether a text has another one in it, in any case: the parameters are those of `Pattern::parameters`.
macro_rules! has_text {
    ($text:expr, $folded:literal, $expression:literal) => {
        concat!(
            "(",
            $folded,
            "::text IS NULL OR strpos(lower(",
            $text,
            " COLLATE \"C\"), ",
            $folded,
            ") > 0)
             AND (",
            $expression,
            "::text IS NULL OR ",
            $text,
            " COLLATE \"C\" ~ ",
            $expression,
            ")"
        )
    };
}

pub(super) use {has_text, link_text};

pub(super) type Query = QueryBuilder<Postgres>;

impl PostgresStore {
    pub(super) async fn search(
        &self,
        owner: Principal,
        search: &LinkSearch<'_>,
    ) -> Result<ToCount<FoundLinks>, StoreError> {
        let mut query = if search.order.is_by_clicks() {
            by_clicks(owner, search)
        } else {
            by_moment(owner, search)
        };
        let found = self.pool.run(async |session| {
            let rows = query.build().fetch_all(session).await?;
            rows.iter().map(scanned).collect::<Result<Vec<_>, _>>()
        });
        rows::found(owner.user, found.await?, search.limit)
    }
}

fn scanned(row: &PgRow) -> Result<ScannedRow, sqlx::Error> {
    Ok(ScannedRow {
        link: LinkRow::from_row(row)?,
        key: row.try_get("sort_key")?,
        is_last: row.try_get("is_last")?,
        is_match: row.try_get("is_match")?,
    })
}

/// One page by moments. It ends with the last row that is looked at, whether that one matches or not: there the next page
/// begins.
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
        "SELECT ",
        link_columns!(),
        ", ",
        micros!("links.created_at"),
        " AS sort_key, n = "
    ));
    query.push(format_args!(
        "{MAX_SCANNED} AS is_last, is_match FROM (
             SELECT links.*, row_number() OVER (ORDER BY {moment} {direction}, {id} {direction}) AS n FROM {source} WHERE "
    ));
    push_owner(&mut query, owner, search.filter);
    if let Some(after) = search.after {
        query.push(format_args!(
            " AND ({moment}, {id}) {later} ('epoch'::timestamptz + "
        ));
        query.push_bind(after.key);
        query.push(" * interval '1 microsecond', ");
        query.push_bind(after.id.number()).push(")");
    }
    query.push(narrowing(search.filter));
    query.push(format_args!(
        " ORDER BY {moment} {direction}, {id} {direction} LIMIT {MAX_SCANNED}
         ) links CROSS JOIN LATERAL (SELECT "
    ));
    push_filter(&mut query, search.filter, search.now);
    query.push(format_args!(
        " AS is_match) matched WHERE is_match OR n = {MAX_SCANNED}
         ORDER BY links.created_at {direction}, links.id {direction} LIMIT "
    ));
    query.push_bind(i64::from(search.limit) + 1);
    query
}

/// One page by the clicks that are written back. All links of the owner are looked at: an index of clicks would have to
/// be changed with every click that is written back. An owner of many links has an order that the service keeps.
fn by_clicks(owner: Principal, search: &LinkSearch<'_>) -> Query {
    const CLICKS: &str = "coalesce(counted.clicks, 0)";
    let (direction, later) = direction(search);
    let source = match &search.filter.tag {
        Some(_) => "link_tags tagged JOIN links ON links.id = tagged.link_id",
        None => "links",
    };
    let mut query = Query::new(format!(
        "WITH chosen AS MATERIALIZED (
             SELECT links.id, {CLICKS} AS clicks FROM {source} LEFT JOIN link_clicks counted ON counted.link_id = links.id
             WHERE "
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
        " ORDER BY clicks {direction}, links.id {direction} LIMIT "
    ));
    query.push_bind(i64::from(search.limit) + 1);
    query.push(concat!(
        ") SELECT ",
        link_columns!(),
        ", chosen.clicks AS sort_key, false AS is_last, true AS is_match FROM chosen JOIN links ON links.id = chosen.id"
    ));
    query.push(format_args!(
        " ORDER BY chosen.clicks {direction}, chosen.id {direction}"
    ));
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

/// Whether a row of `links` is wanted.
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
            query.push(" AND (expires_at IS NOT NULL AND expires_at <= 'epoch'::timestamptz + ");
            query.push_bind(now.micros());
            query.push(format_args!(" * interval '1 microsecond') = {is_expired}"));
            if !is_expired {
                let is_used_up = status == LinkStatus::UsedUp;
                query.push(format_args!(" AND ({IS_USED_UP}) = {is_used_up}"));
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
            query.push(concat!("strpos(lower(", link_text!(), " COLLATE \"C\"), "));
            query.push_bind(folded).push(") > 0");
        }
        Pattern::Classes(classes) => {
            query.push(concat!(link_text!(), " COLLATE \"C\" ~ "));
            query.push_bind(expression(&classes));
        }
    }
}

/// A regular expression of classes of characters.
pub(super) fn expression(classes: &[Vec<char>]) -> String {
    let mut expression = String::new();
    for class in classes {
        match class.as_slice() {
            [char] if char.is_ascii_punctuation() => expression.extend(['\\', *char]),
            [char] => expression.push(*char),
            chars => {
                expression.push('[');
                expression.extend(chars);
                expression.push(']');
            }
        }
    }
    expression
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn punctuation_in_an_expression_is_itself() {
        let classes = [vec!['('], vec!['ä', 'Ä'], vec!['.'], vec!['日']];
        assert_eq!(expression(&classes), r"\([äÄ]\.日");
    }
}
