//! Clicks by visitor class in SQLite.

use async_trait::async_trait;

use super::SqliteStore;
use super::owner_series;
use super::removed_details::remove_of_deleted;
use crate::domain::{Interval, SearchTag};
use crate::store::details::{self, BreakdownRow, Spans};
use crate::store::summing::filters;
use crate::store::{Breakdown, BreakdownQuery, ClicksOf, Details, OwnerSeries, StoreError};

/// A breakdown of the sums by class that a query gives. Bound are: whose, the six bounds of time, the dimension, the six filters,
/// and how many rows.
macro_rules! breakdown {
    ($sums:literal) => {
        concat!(
            "WITH sums AS (",
            $sums,
            "),
            of_values AS (
                SELECT CASE ?8 WHEN 0 THEN referrer WHEN 1 THEN country WHEN 2 THEN browser WHEN 3 THEN os WHEN 4 THEN device
                    ELSE bot END AS value,
                    sum(n) AS clicks, coalesce(sum(n) FILTER (WHERE bot = 'true'), 0) AS bots
                FROM sums JOIN click_classes ON id = class_id
                WHERE (?9 IS NULL OR referrer = ?9) AND (?10 IS NULL OR country = ?10)
                  AND (?11 IS NULL OR browser = ?11) AND (?12 IS NULL OR os = ?12)
                  AND (?13 IS NULL OR device = ?13) AND (?14 IS NULL OR bot = ?14)
                GROUP BY 1 HAVING sum(n) > 0
            )
            SELECT value, clicks, bots, sum(clicks) OVER (), sum(bots) OVER () FROM of_values
            ORDER BY value IN ('', 'other', 'imported') DESC, clicks DESC, value LIMIT ?15"
        )
    };
}

const OF_LINK: &str = breakdown!(
    "SELECT class_id, sum(clicks) AS n FROM (
         SELECT class_id, clicks FROM link_detail_days WHERE link_id = ?1 AND at >= ?2 AND at < ?3
         UNION ALL
         SELECT class_id, clicks FROM link_details WHERE link_id = ?1 AND at >= ?4 AND at < ?5
         UNION ALL
         SELECT class_id, clicks FROM link_details WHERE link_id = ?1 AND at >= ?6 AND at < ?7
     ) GROUP BY class_id"
);

const OF_OWNER: &str = breakdown!(
    "SELECT class_id, sum(clicks) AS n FROM (
         SELECT class_id, clicks FROM owner_detail_days WHERE owner_id = ?1 AND at >= ?2 AND at < ?3
         UNION ALL
         SELECT class_id, clicks FROM owner_details WHERE owner_id = ?1 AND at >= ?4 AND at < ?5
         UNION ALL
         SELECT class_id, clicks FROM owner_details WHERE owner_id = ?1 AND at >= ?6 AND at < ?7
     ) GROUP BY class_id"
);

const OF_TAG: &str = breakdown!(
    "SELECT class_id, sum(clicks) AS n FROM (
         SELECT class_id, clicks FROM link_tags JOIN link_detail_days USING (link_id)
         WHERE owner_id = ?1 AND tag = ?16 AND at >= ?2 AND at < ?3
         UNION ALL
         SELECT class_id, clicks FROM link_tags JOIN link_details USING (link_id)
         WHERE owner_id = ?1 AND tag = ?16 AND at >= ?4 AND at < ?5
         UNION ALL
         SELECT class_id, clicks FROM link_tags JOIN link_details USING (link_id)
         WHERE owner_id = ?1 AND tag = ?16 AND at >= ?6 AND at < ?7
     ) GROUP BY class_id"
);

#[async_trait]
impl Details for SqliteStore {
    async fn sum_details(&self, rows_per_day: u64) -> Result<bool, StoreError> {
        self.class_sums.step(rows_per_day).await
    }

    async fn prune_details(&self, before: Interval, limit: u32) -> Result<u64, StoreError> {
        let mut writer = self.writer.get().await?;
        let mut removed = 0;
        for statement in [
            "DELETE FROM link_details WHERE (link_id, at, class_id) IN (
                 SELECT link_id, at, class_id FROM link_details WHERE at < ?1 LIMIT ?2)",
            "DELETE FROM owner_details WHERE (owner_id, at, class_id) IN (
                 SELECT owner_id, at, class_id FROM owner_details WHERE at < ?1 LIMIT ?2)",
        ] {
            let pruned = sqlx::query(statement)
                .bind(before.number())
                .bind(limit)
                .execute(&mut *writer)
                .await?;
            removed += pruned.rows_affected();
        }
        Ok(removed)
    }

    async fn remove_details_of_deleted(&self, limit: u32) -> Result<bool, StoreError> {
        let _between_steps = self.class_sums.between_steps().await;
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        let is_left = remove_of_deleted(&mut transaction, limit).await?;
        transaction.commit().await?;
        Ok(is_left)
    }

    async fn bots_of_owner(
        &self,
        wanted: &OwnerSeries<'_>,
    ) -> Result<Vec<(Interval, u64)>, StoreError> {
        let found = sqlx::query_as(owner_series::BOTS)
            .bind(wanted.owner.user.0)
            .bind(wanted.owner.key.as_bytes())
            .bind(wanted.tag.map(SearchTag::as_str))
            .bind(wanted.range.start.number())
            .bind(wanted.range.end.number())
            .fetch_all(&mut *self.reader.get_for_search_if(wanted.tag.is_some()).await?)
            .await?;
        Ok(details::bots(found))
    }

    async fn breakdown(&self, query: &BreakdownQuery) -> Result<Breakdown, StoreError> {
        let (statement, id, tag) = match &query.of {
            ClicksOf::Link(link) => (OF_LINK, link.number(), None),
            ClicksOf::Owner(owner) => (OF_OWNER, owner.0, None),
            ClicksOf::Tagged(owner, tag) => (OF_TAG, owner.0, Some(tag.as_str())),
        };
        let mut reader = self.reader.get_for_search_if(tag.is_some()).await?;
        let mut asked = sqlx::query_as(statement).bind(id);
        for bound in Spans::of(&query.range).bounds() {
            asked = asked.bind(bound);
        }
        asked = asked.bind(query.by as i32);
        for filter in filters(&query.filters) {
            asked = asked.bind(filter);
        }
        // Beside the rows that are wanted, that of values without room.
        asked = asked.bind(i64::from(query.limit) + 2);
        if let Some(tag) = tag {
            asked = asked.bind(tag);
        }
        let found: Vec<BreakdownRow> = asked.fetch_all(&mut *reader).await?;
        Ok(details::breakdown(found, query.limit))
    }
}
