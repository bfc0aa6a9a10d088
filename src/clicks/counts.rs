//! Reads counts that are exact and never fall while clicks are written back.
//!
//! A click is in one of four places: pending in Redis, in a flush, in the journal, or in the link's count. Once parked
//! batches are settled, it only moves from left to right in this list. Redis is read first and the database second, in one
//! snapshot. So a click that moves in between may be seen twice, but is never missed. The ledger in the snapshot says which
//! clicks were seen twice:
//!
//! * A flush that Redis showed and the ledger has is left out, up to the ledger's mark. Redis forgets its links only up to that mark.
//! * A flush that is newer than those that Redis showed contains clicks that were seen as pending: the count is read again.
//!
//! While Redis cannot be read, there is no exact count. Who can do with an older one gets that of the database ([`AsOf`]).

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;

use crate::cache::LinkCache;
use crate::clicks::redis_sink::SettleError;
use crate::clicks::{MemoryOnly, RedisSink, settle_parked};
use crate::domain::{Click, Clock, Interval, LinkId, Shard};
use crate::shared_redis::keys::link_field;
use crate::shared_redis::{RedisFailure, RedisShard, RedisShards, Term, scripts};
use crate::store::{CountSnapshot, Store, StoreError};

mod as_of;
mod days;
mod owner;
mod parts;
mod reading;
mod tags;
mod unflushed;
mod written;

pub use as_of::AsOf;
pub use days::LinkDays;
pub use parts::{LinkSeries, tallies};
use parts::{RedisSnapshot, sum_parts, sum_series};
use unflushed::NewestReading;

/// How many times a count is read that flushes overtake.
const TRIES: usize = 20;

/// How long Redis may take to respond.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Why a count could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CountError {
    /// A place with some of the clicks cannot be reached, so no exact count can be given now.
    #[error("click counts are unavailable: {0}")]
    Unavailable(String),
    /// The database responded with something that the code does not expect.
    #[error(transparent)]
    Store(StoreError),
}

/// Reads exact counts; cheap to clone.
#[derive(Clone)]
pub struct Counts {
    store: Store,
    memory_only: Arc<MemoryOnly>,
    shards: Arc<[ShardCounts]>,
    clock: Arc<dyn Clock>,
}

/// A count in progress: its links are looked up in the database meanwhile.
pub struct Counting<'a> {
    counts: &'a Counts,
    /// Whether clicks were in memory alone when it began.
    in_memory: bool,
}

/// What counting needs of one shard of Redis.
struct ShardCounts {
    redis: RedisShard,
    sink: RedisSink,
    cache: LinkCache,
    unflushed: NewestReading,
}

impl Counts {
    /// Reads from the database, and from Redis if there is a Redis.
    #[must_use]
    pub fn new(
        store: Store,
        memory_only: Arc<MemoryOnly>,
        redis: Option<&RedisShards>,
        cache: &LinkCache,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let shard = |redis: &RedisShard| ShardCounts {
            redis: redis.clone(),
            sink: RedisSink::new(redis),
            cache: cache.clone(),
            unflushed: NewestReading::default(),
        };
        let shards = redis.into_iter().flat_map(RedisShards::iter).map(shard);
        Self {
            store,
            memory_only,
            shards: shards.collect(),
            clock,
        }
    }

    /// Begins to count. The places are read in the order in which a click may move: memory, then the journal, where it may be
    /// parked, then Redis. A click that has moved on before one reading is seen by a later one.
    #[must_use]
    pub fn begin(&self) -> Counting<'_> {
        Counting {
            counts: self,
            in_memory: self.memory_only.clicks() > 0,
        }
    }

    /// Settles the batches that are parked for the shards of these links, before Redis is read: a batch that is settled
    /// moves from the journal to Redis, against the direction of the reading.
    async fn settle_for(&self, links: &[Click]) -> Result<(), CountError> {
        let is_concerned = |shard_counts: &&ShardCounts| {
            let shard = shard_counts.redis.shard();
            links.iter().any(|link| link.shard() == shard)
        };
        for _ in 0..TRIES {
            let concerned = self.shards.iter().filter(is_concerned);
            let settling =
                concerned.map(|shard| settle_parked(&shard.sink, &self.store, &shard.cache));
            let settled = try_join_all(settling).await?;
            if settled.iter().sum::<usize>() == 0 {
                return Ok(());
            }
        }
        Err(CountError::Unavailable(
            "clicks in doubt are still being settled".into(),
        ))
    }

    async fn of_shard(&self, clicks: &[Click]) -> Result<HashMap<LinkId, u64>, CountError> {
        let shard = clicks.first().map_or(Shard::ONLY, |click| click.shard());
        for _ in 0..TRIES {
            let counts = match self.shards.get(shard.index()) {
                None => Some(self.without_redis(&links_of(clicks)).await?),
                Some(shard_counts) => self.with_redis(shard_counts, clicks).await?,
            };
            if let Some(counts) = counts {
                return Ok(counts);
            }
        }
        Err(CountError::Unavailable(
            "clicks are written back faster than they can be read".into(),
        ))
    }

    async fn without_redis(&self, links: &[LinkId]) -> Result<HashMap<LinkId, u64>, CountError> {
        let found = self.store.clicks.counts(links, None).await?;
        none_parked(found.has_parked)?;
        Ok(found.clicks.into_iter().collect())
    }

    /// `None` when a flush overtook the reading.
    async fn series_of(
        &self,
        link: Click,
        range: &Range<Interval>,
    ) -> Result<Option<LinkSeries>, CountError> {
        let Some(shard_counts) = self.shards.get(link.shard().index()) else {
            let found = self
                .store
                .clicks
                .series(link.link(), range.clone(), None)
                .await?;
            none_parked(found.counts.has_parked)?;
            return Ok(sum_series(
                link.link(),
                range,
                &RedisSnapshot::none(),
                &found,
            ));
        };
        let (term, redis) = shard_counts.read(&[link]).await?;
        let seen = redis.flushes_seen(&term);
        let found = self
            .store
            .clicks
            .series(link.link(), range.clone(), Some(seen));
        let found = found.await?;
        if !self.is_settled(shard_counts, &found.counts).await? {
            return Ok(None);
        }
        Ok(sum_series(link.link(), range, &redis, &found))
    }

    /// `None` when a flush overtook the reading.
    async fn with_redis(
        &self,
        shard_counts: &ShardCounts,
        clicks: &[Click],
    ) -> Result<Option<HashMap<LinkId, u64>>, CountError> {
        let (term, redis) = shard_counts.read(clicks).await?;
        let links = &links_of(clicks);
        let seen = redis.flushes_seen(&term);
        let database = self.store.clicks.counts(links, Some(seen)).await?;
        if !self.is_settled(shard_counts, &database).await? {
            return Ok(None);
        }
        Ok(sum_parts(links, &redis, &database))
    }

    /// Whether no clicks are parked for a shard; settles those that are.
    async fn is_settled(
        &self,
        shard_counts: &ShardCounts,
        database: &CountSnapshot,
    ) -> Result<bool, CountError> {
        if database.is_superseded {
            let failure = RedisFailure::OtherTerm("another one is in use".into());
            shard_counts.redis.trip(&failure);
            return Err(failure.into());
        }
        if database.is_draining {
            return Err(CountError::Unavailable(
                "clicks of the Redis that was used before are still being written back".into(),
            ));
        }
        if database.has_parked {
            settle_parked(&shard_counts.sink, &self.store, &shard_counts.cache).await?;
        }
        Ok(!database.has_parked)
    }
}

impl ShardCounts {
    /// What Redis has of the clicks of these links, and the term in which it was read.
    async fn read(&self, links: &[Click]) -> Result<(Arc<Term>, RedisSnapshot), CountError> {
        if !self.redis.is_reachable() {
            return Err(CountError::Unavailable("Redis is away".into()));
        }
        let term = self.redis.term()?;
        let redis = read_redis(&self.redis, &term, links).await?;
        Ok((term, redis))
    }
}

fn links_of(clicks: &[Click]) -> Vec<LinkId> {
    clicks.iter().map(|click| click.link()).collect()
}

/// An error if parked batches wait for a Redis that this instance does not have.
fn none_parked(has_parked: bool) -> Result<(), CountError> {
    if has_parked {
        return Err(CountError::Unavailable(
            "clicks in doubt are parked for a Redis that is not configured".into(),
        ));
    }
    Ok(())
}

impl Counting<'_> {
    /// The exact clicks of each of `links` that still exists: of every redirect that was answered before the count began.
    /// `has_parked` says whether the journal had parked batches when the links were looked up, after the count began.
    ///
    /// # Errors
    /// [`CountError::Unavailable`] rather than a number that is too low.
    pub async fn of(
        self,
        links: &[Click],
        has_parked: bool,
    ) -> Result<HashMap<LinkId, u64>, CountError> {
        if links.is_empty() {
            return Ok(HashMap::new());
        }
        let (counts, links) = (self.counts, self.settled(links, has_parked).await?);
        let parts = links.chunk_by(|one, other| one.shard() == other.shard());
        let counted = try_join_all(parts.map(|part| counts.of_shard(part))).await?;
        Ok(counted.into_iter().flatten().collect())
    }

    /// The links by their shards, once no batch of them is parked or in memory.
    async fn settled(&self, links: &[Click], has_parked: bool) -> Result<Vec<Click>, CountError> {
        self.none_in_memory()?;
        let mut links = links.to_vec();
        links.sort_unstable();
        if has_parked {
            self.counts.settle_for(&links).await?;
        }
        Ok(links)
    }

    /// The series of a link over the intervals in `range`, as exact as [`Counting::of`]: over all intervals its sum is the
    /// count. `has_parked` as there.
    ///
    /// # Errors
    /// [`CountError::Unavailable`] rather than a series that lacks clicks.
    pub async fn series_of(
        self,
        link: Click,
        range: Range<Interval>,
        has_parked: bool,
    ) -> Result<LinkSeries, CountError> {
        self.none_in_memory()?;
        if has_parked {
            self.counts.settle_for(&[link]).await?;
        }
        for _ in 0..TRIES {
            if let Some(series) = self.counts.series_of(link, &range).await? {
                return Ok(series);
            }
        }
        Err(CountError::Unavailable(
            "clicks are written back faster than they can be read".into(),
        ))
    }

    fn none_in_memory(&self) -> Result<(), CountError> {
        if self.in_memory {
            return Err(CountError::Unavailable(
                "some clicks are only in memory".into(),
            ));
        }
        Ok(())
    }
}

async fn read_redis(
    redis: &RedisShard,
    term: &Term,
    links: &[Click],
) -> Result<RedisSnapshot, CountError> {
    let keys = redis.keys();
    let mut call = scripts::READ_COUNTS.call(&[
        &keys.state(),
        &keys.pending(),
        &keys.flushing(),
        &keys.intervals(),
    ]);
    call.arg(term.number).arg(keys.flush_prefix());
    for link in links {
        call.arg(link_field(link.link(), link.owner()).to_string());
    }
    let response = redis.query(&call, TIMEOUT).await?;
    RedisSnapshot::parse(response, links.len(), Interval::of(redis.now()))
        .ok_or_else(|| CountError::Unavailable("Redis sent something else than counts".into()))
}

impl From<StoreError> for CountError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(why) | StoreError::Unreachable(why) => Self::Unavailable(why),
            other @ (StoreError::Busy | StoreError::Full | StoreError::Unexpected(_)) => {
                Self::Store(other)
            }
        }
    }
}

impl From<RedisFailure> for CountError {
    fn from(failure: RedisFailure) -> Self {
        Self::Unavailable(failure.to_string())
    }
}

impl From<SettleError> for CountError {
    fn from(failure: SettleError) -> Self {
        match failure {
            SettleError::Redis(failure) => failure.into(),
            SettleError::Store(error) => error.into(),
        }
    }
}
