//! Links in an order that the service keeps: by clicks, of an owner of many, in SQLite.

use super::searched_links::{Query, in_one_text, link_text, narrowing, push_filter, push_owner};
use super::{SqliteStore, link_columns};
use crate::domain::{Link, LinkFilter, LinkId, Principal, Timestamp, UserId};
use crate::store::rows::{self, LinkRow};
use crate::store::scanned::{scanned, with_text};
use crate::store::{Position, ScannedLinks, StoreError, ToCount, WrittenClicks, written_clicks};

impl SqliteStore {
    pub(super) async fn owner_has(
        &self,
        owner: Principal,
        filter: &LinkFilter,
        count: u32,
    ) -> Result<bool, StoreError> {
        let mut query = Query::new("SELECT count(*) FROM (SELECT 1 FROM ");
        push_owner(&mut query, owner, filter);
        query.push(narrowing(filter)).push(" LIMIT ");
        query.push_bind(i64::from(count)).push(")");
        let mut reader = self.reader.get_for_search().await?;
        let found: i64 = query.build_query_scalar().fetch_one(&mut *reader).await?;
        Ok(found >= i64::from(count))
    }

    pub(super) async fn written_clicks(
        &self,
        owner: UserId,
        after: Option<Position>,
        limit: u32,
    ) -> Result<Vec<WrittenClicks>, StoreError> {
        let (key, id) = written_clicks::just_before(after);
        let found = sqlx::query_as(
            "SELECT id, created_at, clicks FROM links WHERE owner_id = ?1 AND (created_at, id) > (?2, ?3)
             ORDER BY created_at, id LIMIT ?4",
        )
        .bind(owner.0)
        .bind(key)
        .bind(id)
        .bind(i64::from(limit))
        .fetch_all(&mut *self.reader.get().await?)
        .await?;
        written_clicks::of_rows(found)
    }

    pub(super) async fn scan_ids(
        &self,
        owner: Principal,
        ids: &[LinkId],
        filter: &LinkFilter,
        now: Timestamp,
    ) -> Result<ScannedLinks, StoreError> {
        let mut query = Query::new(concat!(
            in_one_text!(),
            "(SELECT wanted.key + 1 AS key, links.id AS id, CASE WHEN "
        ));
        push_filter(&mut query, filter, now);
        query.push(concat!(
            " THEN ",
            link_text!(),
            " ELSE '' END AS text FROM "
        ));
        push_wanted(&mut query, owner, ids, filter);
        query.push(") AS looked_at");
        let rows = self.in_one_text(query).await?;
        scanned(rows.as_deref(), filter.text.as_ref(), u32::MAX).await
    }

    pub(super) async fn links_among_ids(
        &self,
        owner: Principal,
        ids: &[LinkId],
        filter: &LinkFilter,
        now: Timestamp,
    ) -> Result<ToCount<Vec<Link>>, StoreError> {
        let mut query = Query::new(concat!("SELECT ", link_columns!(), " FROM "));
        push_wanted(&mut query, owner, ids, filter);
        query.push(" AND ");
        push_filter(&mut query, filter, now);
        query.push(" ORDER BY wanted.key");
        let mut reader = self.reader.get_for_search().await?;
        let found: Vec<LinkRow> = query.build_query_as().fetch_all(&mut *reader).await?;
        Ok(with_text(rows::links(owner.user, found)?, filter).await)
    }
}

/// The owner's links with these numbers and the wanted tag: `links`, and `wanted.key` for the place among the numbers, from 0.
fn push_wanted(query: &mut Query, owner: Principal, ids: &[LinkId], filter: &LinkFilter) {
    let ids: Vec<i64> = ids.iter().map(|id| id.number()).collect();
    query.push("json_each(");
    query.push_bind(serde_json::Value::from(ids).to_string());
    // A cross join is done in the order of its tables: that of the ids.
    query.push(") wanted CROSS JOIN ");
    // A tag is looked for in the link itself.
    push_owner(query, owner, &LinkFilter::default());
    query.push(" AND links.id = wanted.value");
    if let Some(tag) = &filter.tag {
        query.push(" AND EXISTS (SELECT 1 FROM json_each(links.tags) tag WHERE tag.value = ");
        query.push_bind(tag.as_str().to_owned()).push(")");
    }
}
