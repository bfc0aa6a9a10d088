//! The series of all links of an owner: what the database has of it, and what of Redis it lacks.

use std::collections::BTreeMap;
use std::iter;
use std::ops::Range;
use std::sync::Arc;

use futures_util::future::try_join_all;

use super::{CountError, Counting, Counts, ShardCounts, TIMEOUT, TRIES};
use crate::clicks::settle_parked;
use crate::domain::{Interval, LinkId, Principal, SearchTag};
use crate::redis::{RedisFailure, Term, scripts};
use crate::store::{OwnerSeries, OwnerSnapshot, WrittenBack};

/// Links with clicks in a data set that are read at once: some milliseconds of Redis. There are more only where flushes could
/// not be written back for a while.
const MAX_WAITING: u32 = 50_000;

/// All clicks in a data set at one moment.
struct Waiting {
    term: Arc<Term>,
    newest_flush: i64,
    /// The pending ones, then those of each flush.
    parts: Vec<Part>,
}

/// Clicks of one interval by the number of their link.
struct Part {
    /// The number of the flush; none for pending clicks.
    flush: Option<i64>,
    interval: Interval,
    clicks: Vec<(i64, u64)>,
}

/// The script's answer; see `READ_ALL_COUNTS`.
type Reply = Option<(i64, Vec<i64>, Vec<Vec<(i64, u64)>>, Vec<Option<i64>>)>;

impl Counting<'_> {
    /// The clicks of all links of an owner, or of those with a tag, by interval; as exact as [`Counting::series_of`]. The work
    /// grows with the links.
    ///
    /// # Errors
    /// [`CountError::Unavailable`] rather than a series that lacks clicks.
    pub async fn series_of_owner(
        self,
        owner: Principal,
        tag: Option<&SearchTag>,
        range: Range<Interval>,
    ) -> Result<BTreeMap<Interval, u64>, CountError> {
        self.none_in_memory()?;
        let wanted = OwnerSeries { owner, tag, range };
        let counts = self.counts;
        // Parked batches are settled before Redis is read, as for one link.
        let has_parked = !counts.clicks.parked(None, 1).await?.is_empty();
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
                .map(|shard| settle_parked(&shard.sink, &*self.clicks, &shard.cache));
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
        let waiting = try_join_all(self.shards.iter().map(ShardCounts::read_all)).await?;
        let mut asked: Vec<_> = waiting.iter().flat_map(Waiting::links).collect();
        asked.sort_unstable();
        asked.dedup();
        let found = self.clicks.owner_series(wanted, &asked).await?;
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
        for (shard, waiting) in self.shards.iter().zip(&waiting) {
            let Some(written) = shard.written_back(waiting, &found)? else {
                return Ok(None);
            };
            if found.parked_in.contains(&*waiting.term.epoch) {
                settle_parked(&shard.sink, &*self.clicks, &shard.cache).await?;
                return Ok(None);
            }
            for (interval, clicks) in waiting.of_owner(written, &found) {
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
    async fn read_all(&self) -> Result<Waiting, CountError> {
        if !self.redis.is_reachable() {
            return Err(CountError::Unavailable("Redis is away".into()));
        }
        let term = self.redis.term()?;
        let keys = self.redis.keys();
        let mut call = scripts::READ_ALL_COUNTS.call(&[
            &keys.state(),
            &keys.pending(),
            &keys.flushing(),
            &keys.intervals(),
        ]);
        call.arg(term.number)
            .arg(keys.flush_prefix())
            .arg(MAX_WAITING);
        let response: Reply = self.redis.query(&call, TIMEOUT).await?;
        let now = Interval::of(self.redis.now());
        let Some((newest_flush, flushing, counts, intervals)) = response else {
            let why = "the clicks of more links wait to be written back than are read at once";
            return Err(CountError::Unavailable(why.into()));
        };
        if counts.len() != 1 + flushing.len() || intervals.len() != counts.len() {
            let why = "Redis sent something else than counts";
            return Err(CountError::Unavailable(why.into()));
        }
        let numbers = iter::once(None).chain(flushing.into_iter().map(Some));
        let noted = intervals
            .into_iter()
            .map(|interval| interval.map_or(now, Interval::from_number));
        let parts = numbers.zip(noted).zip(counts);
        Ok(Waiting {
            term,
            newest_flush,
            parts: parts
                .map(|((flush, interval), clicks)| Part {
                    flush,
                    interval,
                    clicks,
                })
                .collect(),
        })
    }

    /// How far this data set is written back; `None` where the database has a flush that Redis did not show yet.
    fn written_back<'a>(
        &self,
        waiting: &Waiting,
        found: &'a OwnerSnapshot,
    ) -> Result<Option<&'a WrittenBack>, CountError> {
        let mut data_sets = found.data_sets.iter();
        let written = data_sets.find(|data_set| {
            data_set.is_newest
                && *data_set.epoch == *waiting.term.epoch
                && data_set.term == waiting.term.number
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
        Ok((written.flush <= waiting.newest_flush).then_some(written))
    }
}

impl Waiting {
    fn links(&self) -> impl Iterator<Item = LinkId> {
        let numbers = self.parts.iter().flat_map(|part| &part.clicks);
        numbers.filter_map(|(link, _)| LinkId::parse(*link))
    }

    /// The clicks of an owner's links that the database does not have.
    fn of_owner(
        &self,
        written: &WrittenBack,
        found: &OwnerSnapshot,
    ) -> impl Iterator<Item = (Interval, u64)> {
        self.parts.iter().flat_map(move |part| {
            part.clicks.iter().filter_map(move |(link, clicks)| {
                let link = LinkId::parse(*link).filter(|link| found.owned.contains(link))?;
                let is_written = part
                    .flush
                    .is_some_and(|flush| written.includes(flush, link));
                (!is_written).then_some((part.interval, *clicks))
            })
        })
    }
}
