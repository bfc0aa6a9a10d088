//! The series of all links of an owner: the clicks in the database, and the clicks in Redis that the database lacks.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use futures_util::future::try_join_all;

use super::unflushed::UnflushedClicks;
use super::{CountError, Counting, Counts, ShardCounts, TRIES};
use crate::clicks::settle_parked;
use crate::domain::{Interval, LinkGroup, LinkId, Principal};
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
        counts.settle_parked().await?;
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
    /// Settles parked batches before Redis is read, as for one link.
    pub(super) async fn settle_parked(&self) -> Result<(), CountError> {
        if self.store.clicks.parked(None, 1).await?.is_empty() {
            return Ok(());
        }
        self.settle_all().await
    }

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
        let unflushed = self.unflushed().await?;
        let asked = links_in(&unflushed);
        let found = self.store.clicks.owner_series(wanted, &asked).await?;
        let Some(missing) = self.missing(&unflushed, &found).await? else {
            return Ok(None);
        };
        let missing = missing.into_iter();
        let missing = missing.map(|(_, interval, clicks)| (interval, clicks));
        let mut points = BTreeMap::<_, u64>::new();
        for (interval, clicks) in missing.chain(found.points) {
            if clicks > 0 && wanted.range.contains(&interval) {
                let point = points.entry(interval).or_default();
                *point = point.saturating_add(clicks);
            }
        }
        Ok(Some(points))
    }

    /// The clicks that are in Redis, of each data set.
    pub(super) async fn unflushed(&self) -> Result<Vec<Arc<UnflushedClicks>>, CountError> {
        try_join_all(self.shards.iter().map(ShardCounts::all_unflushed)).await
    }

    /// The clicks in Redis that the database lacks in a snapshot that was read afterwards, of the links that it found to be
    /// asked for. `None` when a flush overtook the reading.
    pub(super) async fn missing(
        &self,
        unflushed: &[Arc<UnflushedClicks>],
        found: &OwnerSnapshot,
    ) -> Result<Option<Vec<(LinkId, Interval, u64)>>, CountError> {
        if self.shards.is_empty() && !found.parked_in.is_empty() {
            return Err(CountError::Unavailable(
                "clicks in doubt are parked for a Redis that is not configured".into(),
            ));
        }
        let mut missing = Vec::new();
        for (shard, unflushed) in self.shards.iter().zip(unflushed) {
            let Some(written) = shard.written_back(unflushed, found)? else {
                return Ok(None);
            };
            if found.parked_in.contains(&*unflushed.term.epoch) {
                settle_parked(&shard.sink, &self.store, &shard.cache).await?;
                return Ok(None);
            }
            missing.extend(unflushed.of_owner(written, found));
        }
        Ok(Some(missing))
    }
}

/// The links that have clicks in Redis.
pub(super) fn links_in(unflushed: &[Arc<UnflushedClicks>]) -> Vec<LinkId> {
    let links = unflushed.iter().flat_map(|unflushed| unflushed.links());
    let mut links: Vec<_> = links.collect();
    links.sort_unstable();
    links.dedup();
    links
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
