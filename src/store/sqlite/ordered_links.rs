//! Links in an order that the service keeps: by clicks, of an owner of many, in SQLite.

use sqlx::QueryBuilder;

use super::searched_links::{narrowing, push_filter, push_owner};
use super::{SqliteStore, link_columns};
use crate::domain::{Link, LinkFilter, LinkId, Principal, Timestamp, UserId};
use crate::store::rows::{self, LinkRow};
use crate::store::{Position, StoreError, ToCount, WrittenClicks, written_clicks};

impl SqliteStore {
    pub(super) async fn owner_has(
        &self,
        owner: Principal,
        filter: &LinkFilter,
        count: u32,
    ) -> Result<bool, StoreError> {
        let mut query = QueryBuilder::new("SELECT count(*) FROM (SELECT 1 FROM ");
        push_owner(&mut query, owner, filter);
        query.push(narrowing(filter)).push(" LIMIT ");
        query.push_bind(i64::from(count)).push(")");
        let mut reader = self.reader.get().await?;
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

    pub(super) async fn links_among_ids(
        &self,
        owner: Principal,
        ids: &[LinkId],
        filter: &LinkFilter,
        now: Timestamp,
    ) -> Result<ToCount<Vec<Link>>, StoreError> {
        let ids: Vec<i64> = ids.iter().map(|id| id.number()).collect();
        let mut query = QueryBuilder::new(concat!("SELECT ", link_columns!(), " FROM json_each("));
        query.push_bind(serde_json::Value::from(ids).to_string());
        // A cross join is done in the order of its tables: that of the ids.
        query.push(") wanted CROSS JOIN ");
        // A tag is looked for in the link itself.
        push_owner(&mut query, owner, &LinkFilter::default());
        query.push(" AND links.id = wanted.value");
        if let Some(tag) = &filter.tag {
            query.push(" AND EXISTS (SELECT 1 FROM json_each(links.tags) tag WHERE tag.value = ");
            query.push_bind(tag.as_str().to_owned()).push(")");
        }
        query.push(" AND ");
        push_filter(&mut query, filter, now);
        query.push(" ORDER BY wanted.key");
        let mut reader = self.reader.get().await?;
        let found: Vec<LinkRow> = query.build_query_as().fetch_all(&mut *reader).await?;
        rows::links(owner.user, found)
    }
}
