//! Series in SQLite.

use std::ops::Range;

use async_trait::async_trait;

use super::SqliteStore;
use super::clicks::counts;
use super::owner_series::points;
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
    SELECT 5, interval, link_series.clicks FROM link_series
    WHERE link_id IN (SELECT id FROM asked) AND interval >= ?7 AND interval < ?8
    UNION ALL
    SELECT 5, at, n FROM (
        SELECT interval AS at, in_interval AS n FROM links WHERE id IN (SELECT id FROM asked)
        UNION ALL
        SELECT journal.interval, n FROM journal JOIN links USING (id)
    ) WHERE at >= ?7 AND at < ?8 AND n > 0"
);

/// The counts of links and their clicks by day, in one statement.
const DAYS: &str = concat!(
    counts!(),
    "
    UNION ALL
    SELECT 10 + (at - ?7) / 96, id, sum(n) FROM (
        SELECT link_id AS id, interval AS at, link_series.clicks AS n FROM asked JOIN link_series ON link_id = asked.id
        WHERE interval >= ?7 AND interval < ?8
        UNION ALL
        SELECT links.id, interval, in_interval FROM asked JOIN links USING (id)
        UNION ALL
        SELECT journal.id, journal.interval, n FROM journal JOIN links USING (id)
    ) WHERE at >= ?7 AND at < ?8 AND n > 0 GROUP BY 1, 2"
);

/// The same of all links of an owner, with the ledger; the kinds of rows are those of `owner_rows`.
const OWNER_SERIES: &str = concat!(
    points!(),
    "
    UNION ALL
    SELECT 1, epoch, flush, up_to FROM data_sets
    UNION ALL
    SELECT 2, epoch, term, (term = (SELECT max(term) FROM data_sets WHERE tag = seen.tag))
        + 2 * EXISTS (SELECT 1 FROM data_sets AS other WHERE other.tag = seen.tag AND drains_until > ?7)
    FROM data_sets AS seen
    UNION ALL
    SELECT DISTINCT 3, coalesce(epoch, ''), 0, 0 FROM click_journal WHERE parked
    UNION ALL
    SELECT 4, '', owned.id, 0 FROM json_each(?6) AS asked JOIN owned ON owned.id = asked.value"
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
        // Before the clicks, which so are no fewer than those of bots.
        let bots = self.bots_of_link(link, &range).await?;
        let found = sqlx::query(SERIES)
            .bind(serde_json::json!([link.number()]).to_string())
            .bind(seen.epoch)
            .bind(serde_json::json!(seen.under_way).to_string())
            .bind(seen.newest)
            .bind(seen.term)
            .bind(self.clock.now().micros())
            .bind(range.start.number())
            .bind(range.end.number())
            .fetch_all(&mut *self.reader.get().await?)
            .await?
            .tuples()?;
        let mut snapshot = click_rows::series_snapshot(found)?;
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
        let found = sqlx::query(DAYS)
            .bind(serde_json::json!(links).to_string())
            .bind(seen.epoch)
            .bind(serde_json::json!(seen.under_way).to_string())
            .bind(seen.newest)
            .bind(seen.term)
            .bind(self.clock.now().micros())
            .bind(days.from.number())
            .bind(days.end())
            .fetch_all(&mut *self.reader.get().await?)
            .await?
            .tuples()?;
        click_rows::days_snapshot(found)
    }

    async fn owner_series(
        &self,
        wanted: &OwnerSeries<'_>,
        asked: &[LinkId],
    ) -> Result<OwnerSnapshot, StoreError> {
        let asked: Vec<_> = asked.iter().map(|link| link.number()).collect();
        let found = sqlx::query(OWNER_SERIES)
            .bind(wanted.owner.user.0)
            .bind(wanted.owner.key.as_bytes().to_vec())
            .bind(wanted.links.tag_text())
            .bind(wanted.range.start.number())
            .bind(wanted.range.end.number())
            .bind(serde_json::json!(asked).to_string())
            .bind(self.clock.now().micros())
            .bind(wanted.links.domain_number())
            .fetch_all(
                &mut *self
                    .reader
                    .get_for_search_if(!wanted.links.is_all())
                    .await?,
            )
            .await?
            .tuples()?;
        owner_rows::owner_snapshot(found)
    }
}
