//! Clicks by visitor class in Postgres.

use std::collections::{BTreeSet, HashMap};

use async_trait::async_trait;

use super::PostgresStore;
use super::detail_lock::is_alone;
use super::detail_room::{class_ids, dropped, note_growth, room};
use super::owner_series;
use super::removed_details::remove_of_deleted;
use super::session::Session;
use crate::domain::Interval;
use crate::store::click_rows;
use crate::store::details::{self, BreakdownRow, Spans};
use crate::store::rows;
use crate::store::summing::{Added, DayOf, Referrers, Sums, WaitingClasses, filters};
use crate::store::{Breakdown, BreakdownQuery, ClicksOf, Details, OwnerSeries, StoreError};

/// Batches and parts of flushes that are summed in one transaction, and after how many classes no further one is: a transaction of
/// tens of thousands keeps a core, and the disk, from redirects for a second.
const WAITING_PER_STEP: u16 = 32;
const CLASSES_PER_STEP: usize = 1_000;

/// `id`, `interval`, `details`, `limit_links`, `limits`.
type WaitingRow = (i64, i32, Vec<u8>, Option<Vec<i64>>, Option<Vec<i64>>);

/// A breakdown of the sums by class that a query gives. Classes are looked up one by one: the planner, which expects a few sums,
/// would compare each of thousands with each class. Bound are: whose, the six bounds of time, the dimension, the six filters,
/// and how many rows.
macro_rules! breakdown {
    ($sums:literal) => {
        concat!(
            "WITH sums AS (",
            $sums,
            "),
            of_values AS (
                SELECT CASE $8 WHEN 0 THEN referrer WHEN 1 THEN country WHEN 2 THEN browser WHEN 3 THEN os WHEN 4 THEN device
                    ELSE bot END AS value,
                    sum(n)::bigint AS clicks, coalesce(sum(n) FILTER (WHERE bot = 'true'), 0)::bigint AS bots
                FROM sums CROSS JOIN LATERAL (SELECT * FROM click_classes WHERE id = sums.class_id LIMIT 1) AS class
                WHERE ($9::text IS NULL OR referrer = $9) AND ($10::text IS NULL OR country = $10)
                  AND ($11::text IS NULL OR browser = $11) AND ($12::text IS NULL OR os = $12)
                  AND ($13::text IS NULL OR device = $13) AND ($14::text IS NULL OR bot = $14)
                GROUP BY 1 HAVING sum(n) > 0
            )
            SELECT value, clicks, bots, sum(clicks) OVER ()::bigint, sum(bots) OVER ()::bigint FROM of_values
            ORDER BY value IN ('', 'other', 'imported') DESC, clicks DESC, value COLLATE \"C\" LIMIT $15"
        )
    };
}

const OF_LINK: &str = breakdown!(
    "SELECT class AS class_id, sum AS n FROM link_class_sums($1, $2, $3, $4, $5, $6, $7)"
);

const OF_OWNER: &str = breakdown!(
    "SELECT class AS class_id, sum AS n FROM owner_class_sums($1, $2, $3, $4, $5, $6, $7)"
);

const OF_TAG: &str = breakdown!(
    "SELECT class_id, sum(clicks) AS n FROM link_tags CROSS JOIN LATERAL (
         SELECT class_id, clicks FROM link_detail_days AS d WHERE d.link_id = link_tags.link_id AND at >= $2 AND at < $3
         UNION ALL
         SELECT class_id, clicks FROM link_details AS d WHERE d.link_id = link_tags.link_id AND at >= $4 AND at < $5
         UNION ALL
         SELECT class_id, clicks FROM link_details AS d WHERE d.link_id = link_tags.link_id AND at >= $6 AND at < $7
     ) AS parts WHERE owner_id = $1 AND tag = $16 GROUP BY class_id"
);

const BOTS_OF_TAG: &str =
    "SELECT interval::bigint, sum(clicks)::bigint FROM link_bots JOIN links ON id = link_id
    WHERE owner_id = (SELECT user_id FROM account_keys WHERE user_id = $1 AND key = $2)
      AND id IN (SELECT link_id FROM link_tags WHERE owner_id = $1 AND tag = $5)
      AND interval >= $3 AND interval < $4 GROUP BY interval";

/// Adds rows to a table whose key is a column of this name.
macro_rules! add {
    ($table:literal, $key:literal) => {
        concat!(
            "INSERT INTO ",
            $table,
            " (",
            $key,
            ", at, class_id, clicks) SELECT * FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::bigint[])
             ON CONFLICT (",
            $key,
            ", at, class_id) DO UPDATE SET clicks = ",
            $table,
            ".clicks + excluded.clicks"
        )
    };
}

#[async_trait]
impl Details for PostgresStore {
    async fn sum_details(&self, rows_per_day: u64) -> Result<bool, StoreError> {
        let summing = async |session: &mut Session| sum(session, rows_per_day).await;
        let (are_more, unclassified) = self.pool.transaction(summing).await?;
        details::note_unclassified(unclassified);
        if are_more {
            details::note_dropped(self.pool.run(dropped).await?);
        }
        Ok(are_more | self.pool.transaction(owner_series::sum_log).await?)
    }

    async fn prune_details(&self, before: Interval, limit: u32) -> Result<u64, StoreError> {
        let mut removed = 0;
        for statement in [
            "DELETE FROM link_details WHERE (link_id, at, class_id) IN
                 (SELECT link_id, at, class_id FROM link_details WHERE at < $1 LIMIT $2)",
            "DELETE FROM owner_details WHERE (owner_id, at, class_id) IN
                 (SELECT owner_id, at, class_id FROM owner_details WHERE at < $1 LIMIT $2)",
        ] {
            let pruned = self.pool.run(async |session| {
                sqlx::query(statement)
                    .bind(before.number())
                    .bind(i64::from(limit))
                    .execute(session)
                    .await
            });
            removed += pruned.await?.rows_affected();
        }
        Ok(removed)
    }

    async fn remove_details_of_deleted(&self, limit: u32) -> Result<bool, StoreError> {
        let limit = i64::from(limit);
        Ok(self
            .pool
            .transaction(async |session| remove_of_deleted(session, limit).await)
            .await?)
    }

    async fn bots_of_owner(
        &self,
        wanted: &OwnerSeries<'_>,
    ) -> Result<Vec<(Interval, u64)>, StoreError> {
        let statement = wanted.tag.map_or(owner_series::BOTS, |_| BOTS_OF_TAG);
        let found = self.pool.search_if(wanted.tag.is_some(), async |session| {
            let mut asked = sqlx::query_as(statement)
                .bind(wanted.owner.user.0)
                .bind(wanted.owner.key.as_bytes())
                .bind(wanted.range.start.number())
                .bind(wanted.range.end.number());
            if let Some(tag) = wanted.tag {
                asked = asked.bind(tag.as_str());
            }
            asked.fetch_all(session).await
        });
        Ok(details::bots(found.await?))
    }

    async fn breakdown(&self, query: &BreakdownQuery) -> Result<Breakdown, StoreError> {
        let (statement, id, tag) = match &query.of {
            ClicksOf::Link(link) => (OF_LINK, link.number(), None),
            ClicksOf::Owner(owner) => (OF_OWNER, owner.0, None),
            ClicksOf::Tagged(owner, tag) => (OF_TAG, owner.0, Some(tag.as_str())),
        };
        let found = self.pool.search_if(tag.is_some(), async |session| {
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
            asked.fetch_all(session).await
        });
        let found: Vec<BreakdownRow> = found.await?;
        Ok(details::breakdown(found, query.limit))
    }
}

/// Returns whether there are more, and the clicks for whose class there was no room.
async fn sum(session: &mut Session, rows_per_day: u64) -> Result<(bool, u64), sqlx::Error> {
    if !is_alone(session).await? {
        return Ok((false, 0));
    }
    let waiting: Vec<WaitingRow> = sqlx::query_as(
        "SELECT id, interval, details, limit_links, limits FROM click_detail_queue ORDER BY id LIMIT $1",
    )
    .bind(i64::from(WAITING_PER_STEP))
    .fetch_all(&mut *session)
    .await?;
    if waiting.is_empty() {
        return Ok((false, 0));
    }
    let read = waiting.len();
    let (mut taken, mut parts, mut classes) = (Vec::new(), Vec::new(), 0);
    for (id, part) in waiting.into_iter().map(as_waiting) {
        classes += part.details.of_links().len();
        if classes > CLASSES_PER_STEP && !taken.is_empty() {
            break;
        }
        taken.push(id);
        parts.push(part);
    }
    let are_more = taken.len() < read || read == usize::from(WAITING_PER_STEP);
    sqlx::query("DELETE FROM click_detail_queue WHERE id = ANY ($1)")
        .bind(taken)
        .execute(&mut *session)
        .await?;
    let sums = Sums::of(parts);
    let owners = owners(session, sums.links()).await?;
    let (of_links, of_owners) = sums.days_with_referrers(&owners);
    let mut of_links = referrers(
        session,
        "SELECT DISTINCT link_id, at, referrer FROM unnest($1, $2) AS asked (link_id, at)
         JOIN link_detail_days USING (link_id, at)
         CROSS JOIN LATERAL (SELECT referrer FROM click_classes WHERE id = class_id LIMIT 1) AS class
         WHERE referrer NOT IN ('', 'other')",
        of_links,
    )
    .await?;
    let mut of_owners = referrers(
        session,
        "SELECT DISTINCT owner_id, at, referrer FROM unnest($1, $2) AS asked (owner_id, at)
         JOIN owner_detail_days USING (owner_id, at)
         CROSS JOIN LATERAL (SELECT referrer FROM click_classes WHERE id = class_id LIMIT 1) AS class
         WHERE referrer NOT IN ('', 'other')",
        of_owners,
    )
    .await?;
    let sums = sums.bound(&owners, &mut of_links, &mut of_owners);
    let ids = class_ids(session, sums.classes()).await?;
    let mut room = room(session, &sums.rows(&owners, &ids).links, rows_per_day).await?;
    let (sums, unclassified) = sums.fitted(&ids, &mut room);
    note_growth(session, room.new_rows()).await?;
    let added = sums.rows(&owners, &ids);
    for (statement, rows) in [
        (add!("link_details", "link_id"), added.links),
        (add!("link_detail_days", "link_id"), added.link_days),
        (add!("owner_details", "owner_id"), added.owners),
        (add!("owner_detail_days", "owner_id"), added.owner_days),
        (
            "INSERT INTO link_bots (link_id, interval, clicks)
             SELECT link_id, interval, n FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::bigint[])
                 AS bots (link_id, interval, class_id, n)
             ON CONFLICT (link_id, interval) DO UPDATE SET clicks = link_bots.clicks + excluded.clicks",
            added.bots,
        ),
    ] {
        add(session, statement, rows).await?;
    }
    Ok((are_more, unclassified))
}

fn as_waiting((id, interval, packed, links, limits): WaitingRow) -> (i64, WaitingClasses) {
    let limits = links.zip(limits).map(|(links, limits)| {
        let limits = links.into_iter().zip(limits);
        let limit =
            |(link, clicks): (i64, i64)| Some((rows::link_id(link).ok()?, clicks.unsigned_abs()));
        limits.filter_map(limit).collect()
    });
    let part = WaitingClasses {
        interval,
        details: click_rows::details(Some(packed)),
        limits,
    };
    (id, part)
}

/// The owner of each link that still exists.
async fn owners(session: &mut Session, links: Vec<i64>) -> Result<HashMap<i64, i64>, sqlx::Error> {
    // One by one: a plan that was made while links were few would read all of them.
    let found: Vec<(i64, Option<i64>)> = sqlx::query_as(
        "SELECT id, (SELECT owner_id FROM links WHERE links.id = asked.id) FROM unnest($1::bigint[]) AS asked (id)",
    )
    .bind(links)
    .fetch_all(session)
    .await?;
    let owned = found
        .into_iter()
        .filter_map(|(link, owner)| Some((link, owner?)));
    Ok(owned.collect())
}

async fn referrers(
    session: &mut Session,
    statement: &'static str,
    days: BTreeSet<DayOf>,
) -> Result<Referrers, sqlx::Error> {
    let mut referrers = Referrers::new();
    if days.is_empty() {
        return Ok(referrers);
    }
    let (ids, days): (Vec<i64>, Vec<i32>) = days.into_iter().unzip();
    let found: Vec<(i64, i32, String)> = sqlx::query_as(statement)
        .bind(ids)
        .bind(days)
        .fetch_all(session)
        .await?;
    for (id, day, referrer) in found {
        referrers.entry((id, day)).or_default().insert(referrer);
    }
    Ok(referrers)
}

async fn add(
    session: &mut Session,
    statement: &'static str,
    rows: Added,
) -> Result<(), sqlx::Error> {
    if !rows.keys.is_empty() {
        sqlx::query(statement)
            .bind(rows.keys)
            .bind(rows.times)
            .bind(rows.classes)
            .bind(rows.clicks)
            .execute(session)
            .await?;
    }
    Ok(())
}
