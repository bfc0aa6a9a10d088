//! Links in an order that the service keeps: by clicks, of an owner of many, in Postgres.
//!
//! Rows are looked up one by one by their keys: for some thousands the planner would rather read whole tables, with the links of
//! all other owners.

use super::searched_links::{Query, in_one_text, link_text, narrowing, push_filter, push_owner};
use super::{PostgresStore, link_columns};
use crate::domain::{Link, LinkFilter, LinkId, Principal, Timestamp, UserId};
use crate::store::rows::{self, LinkRow};
use crate::store::scanned::{scanned, with_text};
use crate::store::{Position, ScannedLinks, StoreError, ToCount, WrittenClicks, written_clicks};

impl PostgresStore {
    pub(super) async fn owner_has(
        &self,
        owner: Principal,
        filter: &LinkFilter,
        count: u32,
    ) -> Result<bool, StoreError> {
        let source = match &filter.tag {
            Some(_) => "link_tags tagged",
            None => "links",
        };
        let mut query = Query::new(format!("SELECT count(*) FROM (SELECT FROM {source} WHERE "));
        push_owner(&mut query, owner, filter);
        query.push(narrowing(filter)).push(" LIMIT ");
        query.push_bind(i64::from(count)).push(") found");
        let found: i64 = self
            .pool
            .search(async |session| query.build_query_scalar().fetch_one(session).await)
            .await?;
        Ok(found >= i64::from(count))
    }

    pub(super) async fn written_clicks(
        &self,
        owner: UserId,
        after: Option<Position>,
        limit: u32,
    ) -> Result<Vec<WrittenClicks>, StoreError> {
        let (key, id) = written_clicks::just_before(after);
        let found = self.pool.run(async |session| {
            sqlx::query_as(
                "SELECT links.id, links.created_at, coalesce((SELECT clicks FROM link_clicks WHERE link_id = links.id), 0) FROM links
                 WHERE links.owner_id = $1
                 AND (links.created_at, links.id) > ($2, $3)
                 ORDER BY links.created_at, links.id LIMIT $4",
            )
            .bind(owner.0)
            .bind(key)
            .bind(id)
            .bind(i64::from(limit))
            .fetch_all(session)
            .await
        });
        written_clicks::of_rows(found.await?)
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
            "(SELECT wanted.n AS key, links.id, CASE WHEN "
        ));
        push_filter(&mut query, filter, now);
        query.push(concat!(
            " THEN ",
            link_text!(),
            " ELSE '' END AS text FROM "
        ));
        push_wanted(&mut query, owner, ids, filter);
        query.push(" ORDER BY wanted.n) looked_at");
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
        query.push(" ORDER BY wanted.n");
        let found = self
            .pool
            .search(async |session| query.build_query_as().fetch_all(session).await);
        let found: Vec<LinkRow> = found.await?;
        Ok(with_text(rows::links(owner.user, found)?, filter).await)
    }
}

/// The owner's links with these numbers and the wanted tag: `links`, and `wanted.n` for the place among the numbers.
fn push_wanted(query: &mut Query, owner: Principal, ids: &[LinkId], filter: &LinkFilter) {
    let ids: Vec<i64> = ids.iter().map(|id| id.number()).collect();
    query.push("unnest(").push_bind(ids).push(
        "::bigint[]) WITH ORDINALITY wanted (link_id, n)
         CROSS JOIN LATERAL (SELECT * FROM links WHERE id = wanted.link_id LIMIT 1) links WHERE ",
    );
    // A tag is looked for in the link itself.
    push_owner(query, owner, &LinkFilter::default());
    if let Some(tag) = &filter.tag {
        query.push(" AND ").push_bind(tag.as_str().to_owned());
        query.push(" IN (SELECT value FROM json_each(links.tags))");
    }
}
