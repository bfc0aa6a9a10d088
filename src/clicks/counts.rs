//! Reading a count: exact, and never falling while clicks are written back.
//!
//! A click is in one of four places: pending in Redis, in a flush, in the journal, in the link. It only
//! moves rightwards, once batches that are held in the journal are settled. Redis is read first and the
//! database second, in one snapshot, so a click may be seen twice (it moved in between) but never missed;
//! the snapshot's ledger says which were seen twice:
//!
//! * a flush that Redis showed and the ledger has is left out, up to the ledger's mark;
//! * a flush newer than those that Redis showed took from what was seen as pending: read again.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;

use crate::cache::LinkCache;
use crate::clicks::redis_sink::SettleError;
use crate::clicks::{MemoryOnly, RedisSink, settle_parked};
use crate::domain::{Click, LinkId, Shard};
use crate::redis::{RedisFailure, RedisShard, RedisShards, scripts};
use crate::store::{Clicks, CountSnapshot, FlushesSeen, StoreError};

/// How often a reading that a flush overtook is made again.
const TRIES: usize = 20;

/// How long Redis may take to answer a reader.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Why a count could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CountError {
    /// Where part of the clicks is cannot be reached: an exact count is not to be had now.
    #[error("click counts are unavailable: {0}")]
    Unavailable(String),
    /// The database answered something that the code does not expect.
    #[error(transparent)]
    Store(StoreError),
}

/// Reads exact counts; cheap to clone.
#[derive(Clone)]
pub struct Counts {
    clicks: Arc<dyn Clicks>,
    memory_only: Arc<MemoryOnly>,
    shards: Arc<[RemoteCounts]>,
}

/// A count that is about to be read: its links are found in the database meanwhile.
pub struct Counting<'a> {
    counts: &'a Counts,
    /// Whether clicks were only in memory when it began.
    in_memory: bool,
}

/// What is particular to one shard of Redis.
struct RemoteCounts {
    redis: RedisShard,
    sink: RedisSink,
    cache: LinkCache,
}

/// What Redis held of some links' clicks at one moment.
struct RedisSnapshot {
    epoch: String,
    newest_flush: i64,
    flushing: Vec<i64>,
    /// Per link asked for: pending, then per flush; `None` is none.
    counts: Vec<Vec<Option<u64>>>,
}

impl Counts {
    /// Reads from the database, and from Redis where there is one.
    #[must_use]
    pub fn new(
        clicks: Arc<dyn Clicks>,
        memory_only: Arc<MemoryOnly>,
        redis: Option<&RedisShards>,
        cache: &LinkCache,
    ) -> Self {
        let shard = |redis: &RedisShard| RemoteCounts {
            redis: redis.clone(),
            sink: RedisSink::new(redis),
            cache: cache.clone(),
        };
        let shards = redis.into_iter().flat_map(RedisShards::iter).map(shard);
        Self {
            clicks,
            memory_only,
            shards: shards.collect(),
        }
    }

    /// Begins to count. The looks are taken in the order that a click may go: from memory to the journal, where it is
    /// held, and from there to Redis. What is further on at each look is seen by the next.
    #[must_use]
    pub fn begin(&self) -> Counting<'_> {
        Counting {
            counts: self,
            in_memory: self.memory_only.clicks() > 0,
        }
    }

    /// Settles what is held for the shards of these links. Before Redis is read: a batch that is settled goes from
    /// the journal to Redis, against the reading's direction.
    async fn settle_for(&self, links: &[Click]) -> Result<(), CountError> {
        let is_asked = |remote: &&RemoteCounts| {
            let shard = remote.redis.shard();
            links.iter().any(|link| link.shard() == shard)
        };
        let asked: Vec<_> = self.shards.iter().filter(is_asked).collect();
        let Some(any) = asked.first() else {
            return Ok(());
        };
        for _ in 0..TRIES {
            let sinks = asked.iter().map(|remote| &remote.sink);
            if settle_parked(sinks, &*self.clicks, &any.cache).await? == 0 {
                return Ok(());
            }
        }
        Err(CountError::Unavailable(
            "clicks in doubt are still being settled".into(),
        ))
    }

    async fn of_shard(&self, clicks: &[Click]) -> Result<HashMap<LinkId, u64>, CountError> {
        let links: Vec<_> = clicks.iter().map(|click| click.link()).collect();
        let links = links.as_slice();
        let shard = clicks.first().map_or(Shard::ONLY, |click| click.shard());
        for _ in 0..TRIES {
            let counts = match self.shards.get(shard.index()) {
                None => Some(
                    self.clicks
                        .counts(links, None)
                        .await?
                        .clicks
                        .into_iter()
                        .collect(),
                ),
                Some(remote) => self.with_redis(remote, links).await?,
            };
            if let Some(counts) = counts {
                return Ok(counts);
            }
        }
        Err(CountError::Unavailable(
            "clicks are written back faster than they can be read".into(),
        ))
    }

    /// `None` when a flush overtook the reading.
    async fn with_redis(
        &self,
        remote: &RemoteCounts,
        links: &[LinkId],
    ) -> Result<Option<HashMap<LinkId, u64>>, CountError> {
        if !remote.redis.is_reachable() {
            return Err(CountError::Unavailable("Redis is away".into()));
        }
        let redis = read_redis(&remote.redis, links).await?;
        let seen = FlushesSeen {
            epoch: &redis.epoch,
            under_way: &redis.flushing,
            newest: redis.newest_flush,
        };
        let database = self.clicks.counts(links, Some(seen)).await?;
        if database.has_parked {
            settle_parked([&remote.sink].into_iter(), &*self.clicks, &remote.cache).await?;
            return Ok(None);
        }
        Ok(added_up(links, &redis, &database))
    }
}

impl Counting<'_> {
    /// Exact clicks of each of `links` that still exists, with the shard that its clicks are in: every
    /// redirect answered before it was begun. `held` is what was found with the links, since then.
    ///
    /// # Errors
    /// [`CountError::Unavailable`] rather than a number that lacks some.
    pub async fn of(
        self,
        links: &[Click],
        has_parked: bool,
    ) -> Result<HashMap<LinkId, u64>, CountError> {
        if links.is_empty() {
            return Ok(HashMap::new());
        }
        if self.in_memory {
            return Err(CountError::Unavailable(
                "some clicks are only in memory".into(),
            ));
        }
        let counts = self.counts;
        let mut links = links.to_vec();
        links.sort_unstable();
        if has_parked {
            counts.settle_for(&links).await?;
        }
        let parts = links.chunk_by(|one, other| one.shard() == other.shard());
        let counted = try_join_all(parts.map(|part| counts.of_shard(part))).await?;
        Ok(counted.into_iter().flatten().collect())
    }
}

async fn read_redis(redis: &RedisShard, links: &[LinkId]) -> Result<RedisSnapshot, CountError> {
    let keys = redis.keys();
    let mut call = scripts::READ_COUNTS.call(&[&keys.state(), &keys.pending(), &keys.flushing()]);
    call.arg(keys.flush_prefix());
    for link in links {
        call.arg(link.number());
    }
    let told = redis.query(&call, TIMEOUT).await?;
    RedisSnapshot::parse(told, links.len())
        .ok_or_else(|| CountError::Unavailable("Redis told something else than counts".into()))
}

impl RedisSnapshot {
    /// `None` where a number is missing, or greater than any that is kept: a sum would lack some or be none.
    fn parse(
        (epoch, newest_flush, flushing, counts): (String, i64, Vec<i64>, Vec<Vec<Option<u64>>>),
        links: usize,
    ) -> Option<Self> {
        let is_whole = counts.len() == 1 + flushing.len();
        let is_kept = |count: &Option<u64>| count.is_none_or(|count| i64::try_from(count).is_ok());
        let are_right = |part: &Vec<_>| part.len() == links && part.iter().all(is_kept);
        (is_whole && counts.iter().all(are_right)).then_some(Self {
            epoch,
            newest_flush,
            flushing,
            counts,
        })
    }
}

/// `None` when the database has a flush that Redis did not show yet.
fn added_up(
    links: &[LinkId],
    redis: &RedisSnapshot,
    database: &CountSnapshot,
) -> Option<HashMap<LinkId, u64>> {
    if database
        .flushes
        .iter()
        .any(|(number, _)| *number > redis.newest_flush)
    {
        return None;
    }
    let mut counts: HashMap<_, _> = database.clicks.iter().copied().collect();
    let (pending, flushes) = redis.counts.split_first()?;
    let marks: HashMap<_, _> = database.flushes.iter().copied().collect();
    for (index, link) in links.iter().enumerate() {
        let Some(count) = counts.get_mut(link) else {
            continue;
        };
        let at = |counts: &[Option<u64>]| counts.get(index).copied().flatten().unwrap_or_default();
        *count = count.saturating_add(at(pending));
        for (number, flush) in redis.flushing.iter().zip(flushes) {
            if marks.get(number).is_none_or(|mark| !mark.includes(*link)) {
                *count = count.saturating_add(at(flush));
            }
        }
    }
    Some(counts)
}

impl From<StoreError> for CountError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(why) | StoreError::Unreachable(why) => Self::Unavailable(why),
            unexpected @ StoreError::Unexpected(_) => Self::Store(unexpected),
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

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    use super::*;

    fn links() -> [LinkId; 2] {
        [1, 2].map(|number| LinkId::parse(number).unwrap())
    }

    fn database() -> CountSnapshot {
        CountSnapshot {
            clicks: links().map(|link| (link, 5)).to_vec(),
            ..CountSnapshot::default()
        }
    }

    proptest! {
        #[test]
        fn a_count_is_the_sum_of_all_its_parts(parts in vec(vec(option::of(0_u64..9), 2..=2), 1..5)) {
            let flushing: Vec<i64> = (1..).take(parts.len() - 1).collect();
            let told = ("epoch".to_owned(), 9, flushing, parts.clone());
            let counts = added_up(&links(), &RedisSnapshot::parse(told, 2).unwrap(), &database()).unwrap();
            for (index, link) in links().iter().enumerate() {
                let in_redis: u64 = parts.iter().filter_map(|part| part[index]).sum();
                prop_assert_eq!(counts[link], 5 + in_redis);
            }
        }

        #[test]
        fn an_answer_without_all_of_its_parts_is_no_count(
            newest in 9_i64..,
            flushing in vec(1_i64..9, 0..4),
            parts in vec(vec(option::of(any::<u64>()), 0..4), 0..5),
        ) {
            let is_whole = parts.len() == 1 + flushing.len() && parts.iter().all(|part| part.len() == 2);
            if let Some(redis) = RedisSnapshot::parse((String::new(), newest, flushing, parts), 2) {
                prop_assert!(is_whole);
                prop_assert_eq!(added_up(&links(), &redis, &database()).unwrap().len(), 2);
            }
        }
    }
}
