//! Series in Postgres.

use std::ops::Range;

use async_trait::async_trait;

use super::PostgresStore;
use super::clicks::counts;
use super::owner_series::points_of_owner;
use crate::domain::{Interval, LinkId};
use crate::store::rows::Tuples as _;
use crate::store::{
    DaysSnapshot, FlushesSeen, LastDays, OwnerSeries, OwnerSnapshot, Series, SeriesSnapshot,
    StoreError,
};
use crate::store::{click_rows, owner_rows};

/// The series and the count of a link, in one statement and so of one snapshot.
const SERIES: &str = concat!(
    counts!(),
    "
    UNION ALL
    SELECT 5, at, clicks FROM unnest($1) AS asked (id) CROSS JOIN LATERAL (
        SELECT at, clicks FROM merged_points(asked.id, $6) UNION ALL SELECT at, clicks FROM points_in_parts(asked.id)
    ) AS points WHERE at >= $6 AND at < $7 AND (SELECT true FROM links WHERE links.id = asked.id)"
);

/// The counts of links and their clicks by day, in one statement.
const DAYS: &str = concat!(
    counts!(),
    "
    UNION ALL
    SELECT 10 + (at - $6) / 96, asked.id, sum(clicks)::bigint FROM unnest($1) AS asked (id) CROSS JOIN LATERAL (
        SELECT at, clicks FROM merged_points(asked.id, $6) UNION ALL SELECT at, clicks FROM points_in_parts(asked.id)
    ) AS points WHERE at >= $6 AND at < $7 AND clicks > 0 AND (SELECT true FROM links WHERE links.id = asked.id) GROUP BY 1, 2"
);

/// Whether a row of `links` is one of those that are asked for.
macro_rules! is_wanted {
    () => {
        "links.owner_id = (SELECT user_id FROM account_keys WHERE user_id = $1 AND key = $2) AND links.trashed_at = 0
            AND ($3::text IS NULL OR links.id IN (SELECT link_id FROM link_tags WHERE owner_id = $1 AND tag = $3))
            AND ($7::bigint IS NULL OR links.domain = $7)"
    };
}

/// Points of a group of the links of an owner that are merged.
macro_rules! points_of_group {
    () => {
        concat!(
    "SELECT 0, '', at::bigint, sum(clicks)::bigint FROM links CROSS JOIN LATERAL merged_points(links.id, $4)
    WHERE at >= $4 AND at < $5 AND ",
    is_wanted!(),
    " GROUP BY at"
        )
    };
}

/// The series of an owner's links with these points: with those in the journal, and with the ledger. The kinds of rows are
/// those of `owner_rows`.
macro_rules! owner_series {
    ($points:expr) => {
        concat!(
    $points,
    "
    UNION ALL
    SELECT 0, '', at::bigint, sum(clicks)::bigint FROM owner_points_in_parts($1)
    WHERE at >= $4 AND at < $5 AND EXISTS (SELECT FROM account_keys WHERE user_id = $1 AND key = $2)
        AND (SELECT trashed_at = 0 AND links.owner_id = $1 AND ($7::bigint IS NULL OR links.domain = $7) FROM links WHERE links.id = link)
        AND ($3::text IS NULL OR link IN (SELECT link_id FROM link_tags WHERE owner_id = $1 AND tag = $3))
    GROUP BY at
    UNION ALL
    SELECT 0, '', at::bigint, sum(clicks)::bigint FROM links CROSS JOIN LATERAL points_in_parts(links.id)
    WHERE at >= $4 AND at < $5 AND links.made_by IS NOT NULL AND ",
    is_wanted!(),
    " GROUP BY at
    UNION ALL
    SELECT 1, epoch, flush, up_to FROM data_sets
    UNION ALL
    SELECT 2, epoch, term, (term = (SELECT max(term) FROM data_sets WHERE tag = seen.tag))::int
        + 2 * EXISTS (SELECT FROM data_sets other WHERE other.tag = seen.tag AND drains_until > now_micros())::int
    FROM data_sets seen
    UNION ALL
    SELECT DISTINCT 3, epoch, 0::bigint, 0::bigint FROM parked_batches
    UNION ALL
    SELECT 4, '', links.id, 0::bigint FROM unnest($6::bigint[]) AS asked (id) JOIN links USING (id) WHERE ",
    is_wanted!()
        )
    };
}

const OWNER_SERIES: &str = owner_series!(points_of_owner!());
const GROUP_SERIES: &str = owner_series!(points_of_group!());

#[async_trait]
impl Series for PostgresStore {
    async fn series(
        &self,
        link: LinkId,
        range: Range<Interval>,
        flushes: Option<FlushesSeen<'_>>,
    ) -> Result<SeriesSnapshot, StoreError> {
        let seen = flushes.unwrap_or(FlushesSeen::NONE);
        // Before the clicks, so that no bot is missing among them.
        let bots = self.bots_of_link(link, &range).await?;
        let found = self.pool.run(async |session| {
            sqlx::query(SERIES)
                .bind([link.number()])
                .bind(seen.epoch)
                .bind(seen.under_way)
                .bind(seen.newest)
                .bind(seen.term)
                .bind(range.start.number())
                .bind(range.end.number())
                .fetch_all(session)
                .await?
                .tuples()
        });
        let mut snapshot = click_rows::series_snapshot(found.await?)?;
        snapshot.bots = bots;
        Ok(snapshot)
    }

    async fn days(
        &self,
        links: &[LinkId],
        days: LastDays,
        flushes: Option<FlushesSeen<'_>>,
    ) -> Result<DaysSnapshot, StoreError> {
        let seen = flushes.unwrap_or(FlushesSeen::NONE);
        let links: Vec<_> = links.iter().map(|link| link.number()).collect();
        let found = self.pool.run(async |session| {
            sqlx::query(DAYS)
                .bind(links)
                .bind(seen.epoch)
                .bind(seen.under_way)
                .bind(seen.newest)
                .bind(seen.term)
                .bind(days.from.number())
                .bind(days.end())
                .fetch_all(session)
                .await?
                .tuples()
        });
        click_rows::days_snapshot(found.await?)
    }

    async fn owner_series(
        &self,
        wanted: &OwnerSeries<'_>,
        asked: &[LinkId],
    ) -> Result<OwnerSnapshot, StoreError> {
        let asked: Vec<_> = asked.iter().map(|link| link.number()).collect();
        let is_group = !wanted.links.is_all();
        let statement = if is_group { GROUP_SERIES } else { OWNER_SERIES };
        let found = self.pool.search_if(is_group, async |session| {
            sqlx::query(statement)
                .bind(wanted.owner.user.0)
                .bind(wanted.owner.key.as_bytes())
                .bind(wanted.links.tag_text())
                .bind(wanted.range.start.number())
                .bind(wanted.range.end.number())
                .bind(asked)
                .bind(wanted.links.domain_number())
                .fetch_all(session)
                .await?
                .tuples()
        });
        owner_rows::owner_snapshot(found.await?)
    }
}
