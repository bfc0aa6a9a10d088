//! Series in Postgres.

use std::ops::Range;

use async_trait::async_trait;

use super::PostgresStore;
use super::clicks::counts;
use crate::domain::{Interval, LinkId};
use crate::store::rows;
use crate::store::{FlushesSeen, Series, SeriesSnapshot, StoreError};

/// The series and the count of a link, in one statement and so of one snapshot.
const SERIES: &str = concat!(
    counts!(),
    "
    UNION ALL
    SELECT 5, quarter, clicks FROM link_series WHERE link_id = ANY ($1) AND quarter >= $6 AND quarter < $7
    UNION ALL
    SELECT 5, at, n FROM (
        SELECT CASE quarter WHEN 0 THEN greatest(floor(extract(epoch FROM created_at) / 900)::bigint, 1) ELSE quarter END AS at,
            CASE quarter WHEN 0 THEN clicks ELSE in_quarter END AS n
        FROM link_clicks JOIN links ON links.id = link_id WHERE link_id = ANY ($1)
        UNION ALL
        SELECT coalesce(quarter, quarter_now()), n
        FROM click_journal, unnest(link_ids, clicks) AS pair (id, n) WHERE NOT held AND id = ANY ($1)
    ) AS newest WHERE at >= $6 AND at < $7
    UNION ALL
    SELECT 6, quarter, clicks FROM link_bots WHERE link_id = ANY ($1) AND quarter >= $6 AND quarter < $7"
);

#[async_trait]
impl Series for PostgresStore {
    async fn series(
        &self,
        link: LinkId,
        range: Range<Interval>,
        flushes: Option<FlushesSeen<'_>>,
    ) -> Result<SeriesSnapshot, StoreError> {
        let seen = flushes.unwrap_or(FlushesSeen::NONE);
        let found = self.pool.run(async |session| {
            sqlx::query_as(SERIES)
                .bind([link.number()])
                .bind(seen.epoch)
                .bind(seen.under_way)
                .bind(seen.newest)
                .bind(seen.term)
                .bind(range.start.number())
                .bind(range.end.number())
                .fetch_all(session)
                .await
        });
        rows::series_snapshot(found.await?)
    }
}
