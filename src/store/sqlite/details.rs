//! What is kept of visitors, in SQLite.
//!
//! Clicks wait for the one writer. So what is needed for a sum is read before, and a step is short.

use std::collections::{BTreeSet, HashMap};

use async_trait::async_trait;
use serde_json::json;
use sqlx::SqliteConnection;

use super::SqliteStore;
use super::batch::from_json;
use super::detail_room::{add_classes, dropped, known_classes, note_growth, room};
use super::owner_series;
use super::removed_details::remove_of_deleted;
use crate::domain::{Interval, SearchTag};
use crate::store::click_rows;
use crate::store::details::{self, BreakdownRow, Spans};
use crate::store::summing::{Added, DayOf, Referrers, Sums, Waiting, filters};
use crate::store::{Breakdown, BreakdownQuery, ClicksOf, Details, OwnerSeries, StoreError};

/// Batches and parts of flushes that are summed in one step, and after how many classes no further one is taken.
const WAITING_PER_STEP: u32 = 16;
const CLASSES_PER_STEP: usize = 128;

/// `id`, `quarter`, `details`, `limits`.
type WaitingRow = (i64, i32, Vec<u8>, Option<String>);

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
            ORDER BY value IN ('', 'other') DESC, clicks DESC, value LIMIT ?15"
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

/// Adds rows to a table whose key is a column of this name.
macro_rules! add {
    ($table:literal, $key:literal) => {
        concat!(
            "INSERT INTO ",
            $table,
            " (",
            $key,
            ", at, class_id, clicks)
             SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?1) WHERE true
             ON CONFLICT (",
            $key,
            ", at, class_id) DO UPDATE SET clicks = clicks + excluded.clicks"
        )
    };
}

#[async_trait]
impl Details for SqliteStore {
    async fn sum_details(&self, rows_per_day: u64) -> Result<bool, StoreError> {
        let waiting: Vec<WaitingRow> = sqlx::query_as(
            "SELECT id, quarter, details, limits FROM click_detail_queue ORDER BY id LIMIT ?1",
        )
        .bind(WAITING_PER_STEP)
        .fetch_all(&mut *self.log.background().await?)
        .await?;
        let read = waiting.len();
        let (mut taken, mut parts, mut classes) = (Vec::new(), Vec::new(), 0);
        for (id, quarter, packed, limits) in waiting {
            let details = click_rows::details(Some(packed));
            classes += details.of_links().len();
            if classes > CLASSES_PER_STEP && !taken.is_empty() {
                break;
            }
            taken.push(id);
            parts.push(Waiting {
                quarter,
                details,
                limits: limits.as_deref().map(from_json).transpose()?,
            });
        }
        if taken.is_empty() {
            let owner = owner_series::without_sums(&mut *self.log.background().await?).await?;
            let Some(owner) = owner else {
                return Ok(false);
            };
            let mut writer = self.writer.get().await?;
            let mut transaction = writer.begin_immediate().await?;
            owner_series::make_sums(&mut transaction, owner).await?;
            transaction.commit().await?;
            return Ok(true);
        }
        let are_more = taken.len() < read || read == WAITING_PER_STEP as usize;
        let sums = Sums::of(parts);
        let (sums, mut ids) = {
            let reader = &mut *self.log.background().await?;
            let owners = owners_of(reader, sums.links()).await?;
            let (of_links, of_owners) = sums.days_with_referrers(&owners);
            let of_links = referrers(reader, REFERRERS_OF_LINKS, of_links).await?;
            let of_owners = referrers(reader, REFERRERS_OF_OWNERS, of_owners).await?;
            let sums = sums.bound(&owners, of_links, of_owners);
            let ids = known_classes(reader, &sums.classes()).await?;
            (sums, ids)
        };
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        let removed = sqlx::query(
            "DELETE FROM click_detail_queue WHERE id IN (SELECT value FROM json_each(?1))",
        )
        .bind(json!(taken).to_string())
        .execute(&mut *transaction)
        .await?;
        if removed.rows_affected() != taken.len() as u64 {
            // Another process that has this file summed them meanwhile.
            return Ok(true);
        }
        add_classes(&mut transaction, &sums.classes(), &mut ids).await?;
        // Once more: some may have been deleted meanwhile.
        let owners = owners_of(&mut transaction, sums.links()).await?;
        let wanted = as_json(&sums.rows(&owners, &ids).links);
        let mut room = room(&mut transaction, &wanted, rows_per_day).await?;
        let (sums, unclassified) = sums.fitted(&ids, &mut room);
        note_growth(&mut transaction, room.new_rows()).await?;
        let added = sums.rows(&owners, &ids);
        for (statement, rows) in [
            (add!("link_details", "link_id"), added.links),
            (add!("link_detail_days", "link_id"), added.link_days),
            (add!("owner_details", "owner_id"), added.owners),
            (add!("owner_detail_days", "owner_id"), added.owner_days),
            (
                "INSERT INTO link_bots (link_id, quarter, clicks)
                 SELECT value ->> 0, value ->> 1, value ->> 3 FROM json_each(?1) WHERE true
                 ON CONFLICT (link_id, quarter) DO UPDATE SET clicks = clicks + excluded.clicks",
                added.bots,
            ),
        ] {
            if !rows.keys.is_empty() {
                sqlx::query(statement)
                    .bind(as_json(&rows))
                    .execute(&mut *transaction)
                    .await?;
            }
        }
        let dropped = dropped(&mut transaction).await?;
        transaction.commit().await?;
        details::note_unclassified(unclassified);
        details::note_dropped(dropped);
        Ok(are_more)
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
            .fetch_all(&mut *self.reader.get().await?)
            .await?;
        Ok(details::bots(found))
    }

    async fn breakdown(&self, query: &BreakdownQuery) -> Result<Breakdown, StoreError> {
        let (statement, id, tag) = match &query.of {
            ClicksOf::Link(link) => (OF_LINK, link.number(), None),
            ClicksOf::Owner(owner) => (OF_OWNER, owner.0, None),
            ClicksOf::Tagged(owner, tag) => (OF_TAG, owner.0, Some(tag.as_str())),
        };
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
        let found: Vec<BreakdownRow> = asked.fetch_all(&mut *self.reader.get().await?).await?;
        Ok(details::breakdown(found, query.limit))
    }
}

const REFERRERS_OF_LINKS: &str = "SELECT DISTINCT link_id, at, referrer FROM json_each(?1)
    JOIN link_detail_days ON link_id = value ->> 0 AND at = value ->> 1
    JOIN click_classes ON click_classes.id = class_id WHERE referrer NOT IN ('', 'other')";

const REFERRERS_OF_OWNERS: &str = "SELECT DISTINCT owner_id, at, referrer FROM json_each(?1)
    JOIN owner_detail_days ON owner_id = value ->> 0 AND at = value ->> 1
    JOIN click_classes ON click_classes.id = class_id WHERE referrer NOT IN ('', 'other')";

/// The owner of each link that still exists.
async fn owners_of(
    reader: &mut SqliteConnection,
    links: Vec<i64>,
) -> Result<HashMap<i64, i64>, StoreError> {
    let found: Vec<(i64, i64)> = sqlx::query_as(
        "SELECT id, owner_id FROM links WHERE id IN (SELECT value FROM json_each(?1))",
    )
    .bind(json!(links).to_string())
    .fetch_all(reader)
    .await?;
    Ok(found.into_iter().collect())
}

async fn referrers(
    reader: &mut SqliteConnection,
    statement: &'static str,
    days: BTreeSet<DayOf>,
) -> Result<Referrers, StoreError> {
    let mut referrers = Referrers::new();
    if days.is_empty() {
        return Ok(referrers);
    }
    let found: Vec<(i64, i32, String)> = sqlx::query_as(statement)
        .bind(json!(days).to_string())
        .fetch_all(reader)
        .await?;
    for (id, day, referrer) in found {
        referrers.entry((id, day)).or_default().insert(referrer);
    }
    Ok(referrers)
}

/// `[[key, time, class, clicks], …]`
fn as_json(rows: &Added) -> String {
    let columns = rows
        .keys
        .iter()
        .zip(&rows.times)
        .zip(rows.classes.iter().zip(&rows.clicks));
    let rows: Vec<_> = columns
        .map(|((key, time), (class, clicks))| (key, time, class, clicks))
        .collect();
    json!(rows).to_string()
}
