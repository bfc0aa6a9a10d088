//! The series of all links of an owner: the clicks in the database, and the clicks in Redis that the database lacks.

use std::collections::BTreeMap;
use std::ops::Range;

use futures_util::future::try_join_all;

use super::unflushed::UnflushedClicks;
use super::{CountError, Counting, Counts, ShardCounts, TRIES};
use crate::clicks::settle_parked;
use crate::domain::{Interval, LinkGroup, Principal};
use crate::shared_redis::RedisFailure;
use crate::store::{OwnerSeries, OwnerSnapshot, WrittenBack};

impl Counting<'_> {
    /// The clicks of all links of an owner, or of a group of them, by interval; as exact as [`Counting::series_of`]: every click
    /// that was answered before is in it, and of those that are answered meanwhile some may be. The work grows with the
    /// links that have clicks in Redis, and with those of the group.
    ///
    /// # Errors
    /// [`CountError::Unavailable`] rather than a series that lacks clicks.
    pub async fn series_of_owner(
        self,
        owner: Principal,
        links: &LinkGroup,
        range: Range<Interval>,
    ) -> Result<BTreeMap<Interval, u64>, CountError> {
        self.none_in_memory()?;
        let wanted = OwnerSeries {
            owner,
            links,
            range,
        };
        let counts = self.counts;
        // Parked batches are settled before Redis is read, as for one link.
        let has_parked = !counts.store.clicks.parked(None, 1).await?.is_empty();
        if has_parked {
            counts.settle_all().await?;
        }
        for _ in 0..TRIES {
            if let Some(points) = counts.series_of_owner(&wanted).await? {
                return Ok(points);
            }
        }
        Err(CountError::Unavailable(
            "clicks are written back faster than they can be read".into(),
        ))
    }
}

impl Counts {
    async fn settle_all(&self) -> Result<(), CountError> {
        for _ in 0..TRIES {
            let settling = self
                .shards
                .iter()
                .map(|shard| settle_parked(&shard.sink, &self.store, &shard.cache));
            let settled = try_join_all(settling).await?;
            if settled.iter().sum::<usize>() == 0 {
                return Ok(());
            }
        }
        Err(CountError::Unavailable(
            "clicks in doubt are still being settled".into(),
        ))
    }

    /// `None` when a flush overtook the reading.
    async fn series_of_owner(
        &self,
        wanted: &OwnerSeries<'_>,
    ) -> Result<Option<BTreeMap<Interval, u64>>, CountError> {
        let unflushed = try_join_all(self.shards.iter().map(ShardCounts::all_unflushed)).await?;
        let mut asked: Vec<_> = unflushed
            .iter()
            .flat_map(|unflushed| unflushed.links())
            .collect();
        asked.sort_unstable();
        asked.dedup();
        let found = self.store.clicks.owner_series(wanted, &asked).await?;
        if self.shards.is_empty() && !found.parked_in.is_empty() {
            return Err(CountError::Unavailable(
                "clicks in doubt are parked for a Redis that is not configured".into(),
            ));
        }
        let mut points = BTreeMap::<_, u64>::new();
        let mut add = |interval: Interval, clicks: u64| {
            if clicks > 0 && wanted.range.contains(&interval) {
                let point = points.entry(interval).or_default();
                *point = point.saturating_add(clicks);
            }
        };
        for (shard, unflushed) in self.shards.iter().zip(&unflushed) {
            let Some(written) = shard.written_back(unflushed, &found)? else {
                return Ok(None);
            };
            if found.parked_in.contains(&*unflushed.term.epoch) {
                settle_parked(&shard.sink, &self.store, &shard.cache).await?;
                return Ok(None);
            }
            for (interval, clicks) in unflushed.of_owner(written, &found) {
                add(interval, clicks);
            }
        }
        for (interval, clicks) in &found.points {
            add(*interval, *clicks);
        }
        Ok(Some(points))
    }
}

impl ShardCounts {
    /// How far this data set is written back; `None` where the database has a flush that Redis did not show yet.
    fn written_back<'a>(
        &self,
        unflushed: &UnflushedClicks,
        found: &'a OwnerSnapshot,
    ) -> Result<Option<&'a WrittenBack>, CountError> {
        let mut data_sets = found.data_sets.iter();
        let written = data_sets.find(|data_set| {
            data_set.is_newest
                && *data_set.epoch == *unflushed.term.epoch
                && data_set.term == unflushed.term.number
        });
        let Some(written) = written else {
            let failure = RedisFailure::OtherTerm("another one is in use".into());
            self.redis.trip(&failure);
            return Err(failure.into());
        };
        if written.is_draining {
            return Err(CountError::Unavailable(
                "clicks of the Redis that was used before are still being written back".into(),
            ));
        }
        let is_newer =
            written.flush > unflushed.newest_flush || !unflushed.finished_are_in(written);
        Ok((!is_newer).then_some(written))
    }
}
