//! Series in SQLite.

use std::ops::Range;

use async_trait::async_trait;

use super::SqliteStore;
use super::clicks::counts;
use crate::domain::{Interval, LinkId};
use crate::store::rows;
use crate::store::{FlushesSeen, Series, SeriesSnapshot, StoreError};

/// The series and the count of a link, in one statement and so of one snapshot.
const SERIES: &str = concat!(
    counts!(),
    "
    UNION ALL
    SELECT 5, quarter, link_series.clicks FROM link_series
    WHERE link_id IN (SELECT id FROM asked) AND quarter >= ?7 AND quarter < ?8
    UNION ALL
    SELECT 5, at, n FROM (
        SELECT CASE quarter WHEN 0 THEN max(created_at / 900000000, 1) ELSE quarter END AS at,
            CASE quarter WHEN 0 THEN links.clicks ELSE in_quarter END AS n
        FROM links WHERE id IN (SELECT id FROM asked)
        UNION ALL
        SELECT journal.quarter, n FROM journal JOIN links USING (id)
    ) WHERE at >= ?7 AND at < ?8 AND n > 0
    UNION ALL
    SELECT 6, quarter, link_bots.clicks FROM link_bots
    WHERE link_id IN (SELECT id FROM asked) AND quarter >= ?7 AND quarter < ?8"
);

#[async_trait]
impl Series for SqliteStore {
    async fn series(
        &self,
        link: LinkId,
        range: Range<Interval>,
        flushes: Option<FlushesSeen<'_>>,
    ) -> Result<SeriesSnapshot, StoreError> {
        let seen = flushes.unwrap_or(FlushesSeen::NONE);
        let found = sqlx::query_as(SERIES)
            .bind(serde_json::json!([link.number()]).to_string())
            .bind(seen.epoch)
            .bind(serde_json::json!(seen.under_way).to_string())
            .bind(seen.newest)
            .bind(seen.term)
            .bind(self.clock.now().micros())
            .bind(range.start.number())
            .bind(range.end.number())
            .fetch_all(&mut *self.reader.get().await?)
            .await?;
        rows::series_snapshot(found)
    }
}
