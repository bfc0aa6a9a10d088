//! Counts that the database has, for answers that need not be exact while Redis cannot be read.
//!
//! A response with such a count names a moment: every click that was answered before that moment is counted. Later ones may
//! be counted, too: while Redis is away, clicks go to the journal, which is in the database. The moment is read first, so
//! that the counts are never older than it says. It is before every click that is only in the memory of this instance; of
//! the memory of other instances nothing is known.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::parts::{RedisSnapshot, sum_series};
use super::{AsOf, CountError, Counting, Counts, LinkSeries, none_parked};
use crate::domain::{Click, Interval, LinkGroup, LinkId, Principal, Timestamp};
use crate::store::OwnerSeries;

impl Counting<'_> {
    /// As [`Counting::of`]; those of the database, where exact ones cannot be read.
    ///
    /// # Errors
    /// [`CountError`] where the database cannot be read.
    pub async fn of_or_written(
        self,
        links: &[Click],
        has_parked: bool,
    ) -> Result<AsOf<HashMap<LinkId, u64>>, CountError> {
        let counts = self.counts;
        let written = async {
            let links: Vec<_> = links.iter().map(|click| click.link()).collect();
            let found = counts.store.clicks.counts(&links, None).await?;
            counts.none_parked_elsewhere(found.has_parked)?;
            Ok(found.clicks.into_iter().collect())
        };
        counts
            .or_written(self.of(links, has_parked).await, written)
            .await
    }

    /// As [`Counting::series_of`]; that of the database, where an exact one cannot be read.
    ///
    /// # Errors
    /// [`CountError`] where the database cannot be read.
    pub async fn series_of_or_written(
        self,
        link: Click,
        range: Range<Interval>,
        has_parked: bool,
    ) -> Result<AsOf<LinkSeries>, CountError> {
        let counts = self.counts;
        let written = async {
            let found = counts.store.clicks.series(link.link(), range.clone(), None);
            let found = found.await?;
            counts.none_parked_elsewhere(found.counts.has_parked)?;
            let series = sum_series(link.link(), &range, &RedisSnapshot::none(), &found);
            Ok(series.unwrap_or_default())
        };
        let exact = self.series_of(link, range.clone(), has_parked).await;
        counts.or_written(exact, written).await
    }

    /// As [`Counting::series_of_owner`]; that of the database, where an exact one cannot be read.
    ///
    /// # Errors
    /// [`CountError`] where the database cannot be read.
    pub async fn series_of_owner_or_written(
        self,
        owner: Principal,
        links: &LinkGroup,
        range: Range<Interval>,
    ) -> Result<AsOf<BTreeMap<Interval, u64>>, CountError> {
        let counts = self.counts;
        let wanted = OwnerSeries {
            owner,
            links,
            range: range.clone(),
        };
        let written = async {
            let found = counts.store.clicks.owner_series(&wanted, &[]).await?;
            counts.none_parked_elsewhere(!found.parked_in.is_empty())?;
            let mut points = BTreeMap::<_, u64>::new();
            for (interval, clicks) in found.points {
                let point = points.entry(interval).or_default();
                *point = point.saturating_add(clicks);
            }
            Ok(points)
        };
        let exact = self.series_of_owner(owner, links, range).await;
        counts.or_written(exact, written).await
    }
}

impl Counts {
    /// What was read exactly; otherwise what the database has, which is read after its moment.
    pub(super) async fn or_written<T>(
        &self,
        exact: Result<T, CountError>,
        written: impl Future<Output = Result<T, CountError>>,
    ) -> Result<AsOf<T>, CountError> {
        let Err(CountError::Unavailable(why)) = exact else {
            return Ok(AsOf {
                value: exact?,
                as_of: None,
            });
        };
        tracing::debug!(why, "clicks are answered as the database has them");
        let as_of = Some(self.written_up_to().await?);
        Ok(AsOf {
            value: written.await?,
            as_of,
        })
    }

    /// The moment up to which the database has all clicks, as far as this instance knows. Counts that are read afterwards have
    /// them.
    ///
    /// # Errors
    /// [`CountError`] where the database cannot be read.
    pub async fn written_up_to(&self) -> Result<Timestamp, CountError> {
        let now = self.clock.now();
        let in_memory = self.memory_only.lasts().map(|lasts| now.before(lasts));
        let mut up_to = in_memory.unwrap_or(now);
        if !self.shards.is_empty() {
            let tags = self.shards.iter().map(|shard| shard.redis.keys().tag());
            let tags: Vec<_> = tags.collect();
            let written_back = self.store.written_back_up_to(&tags).await?;
            up_to = written_back.map_or(up_to, |written_back| up_to.min(written_back));
        }
        Ok(up_to)
    }

    /// No moment is noted for a Redis that this instance does not have.
    pub(super) fn none_parked_elsewhere(&self, has_parked: bool) -> Result<(), CountError> {
        none_parked(has_parked && self.shards.is_empty())
    }
}
