//! The cache of links: the tiers put together, and kept current.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::cursor::{ChangeMark, InvalidationCursor};
use super::freshness::Freshness;
use super::invalidation::Invalidations;
use super::l1::L1;
use super::l2::{L2, LookedUp};
use super::limits::CacheLimits;
use super::link::CachedLink;
use super::lookup_batcher::{LookupBatcher, RedisLookup, TierState};
use super::redis_tier::RedisTier;
use super::version::LookupVersion;
use crate::domain::{LinkTarget, Shard, ShortCode};
use crate::redis::{RedisFailure, RedisShard, RedisShards};

/// Where a link was found, or that there is none. A request that shares a look-up has its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The memory of the process.
    Process,
    /// Redis.
    Redis,
    /// The database.
    Database,
}

/// The link of a code, if there is one, and the source.
pub type Resolved = (Option<Arc<CachedLink>>, Source);

/// Links in the process and in Redis; cheap to clone.
#[derive(Clone)]
pub struct LinkCache {
    limits: CacheLimits,
    l1: Arc<L1>,
    l2: L2,
    version: Arc<AtomicU64>,
    shards: Arc<[CacheShard]>,
}

/// The part of the cache that belongs to one data set; without Redis there is one, too.
struct CacheShard {
    changes: Arc<Invalidations>,
    freshness: Arc<Freshness>,
    redis: Option<RedisTier>,
}

/// A change could not be announced in Redis; the outbox announces it later.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// Redis is away.
    #[error(transparent)]
    Unavailable(#[from] RedisFailure),
}

/// How often a look-up that a change overtook is repeated, before one is made whose result is neither shared nor cached.
const LOOKUP_TRIES: usize = 5;

impl LinkCache {
    /// An empty cache. With `redis` it is shared between instances.
    #[must_use]
    pub fn new(limits: CacheLimits, redis: Option<&RedisShards>) -> Self {
        let version = Arc::default();
        let shard = |redis: Option<&RedisShard>| CacheShard {
            changes: Arc::new(Invalidations::new(&version)),
            freshness: Arc::new(Freshness::new(limits.l2_ttl())),
            // The batcher is dropped: look-ups are made by workers, which have batchers of their own.
            redis: redis.map(|redis| RedisTier::new(redis.clone()).0),
        };
        let shards = match redis {
            Some(redis) => redis.iter().map(|redis| shard(Some(redis))).collect(),
            None => [shard(None)].into(),
        };
        Self {
            limits,
            l1: Arc::new(L1::new(limits.l1_slots(), limits.workers, limits.l1_ttl())),
            l2: L2::new(limits),
            shards,
            version,
        }
    }

    /// The same cache for a worker, with a table and Redis connections of its own. The batchers have to run for its
    /// look-ups in Redis to be answered.
    #[must_use]
    pub fn for_worker(&self) -> (Self, Vec<LookupBatcher>) {
        let mut batchers = Vec::new();
        let mut for_worker = |redis: &RedisTier| {
            let (redis, batcher) = redis.for_worker();
            batchers.push(batcher);
            redis
        };
        let shard = |shard: &CacheShard| CacheShard {
            changes: Arc::clone(&shard.changes),
            freshness: Arc::clone(&shard.freshness),
            redis: shard.redis.as_ref().map(&mut for_worker),
        };
        let shards = self.shards.iter().map(shard).collect();
        let cache = Self {
            l1: Arc::new(L1::new(
                self.limits.l1_slots(),
                self.limits.workers,
                self.limits.l1_ttl(),
            )),
            shards,
            ..self.clone()
        };
        (cache, batchers)
    }

    /// Rises with every change of any link that this process applies.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The data set of a code.
    #[must_use]
    pub fn shard_of(&self, code: &ShortCode) -> Shard {
        Shard::of_code(code, u16::try_from(self.shards.len()).unwrap_or(u16::MAX))
    }

    fn shard(&self, shard: Shard) -> &CacheShard {
        &self.shards[shard.index()]
    }

    /// The link in the worker's own table.
    #[must_use]
    pub fn l1(&self, code: &ShortCode, now: Instant) -> Option<Arc<CachedLink>> {
        self.l1.get(code, self.version(), now)
    }

    /// The link in the cache of the process; `Some(None)` is a code that is known to have none.
    pub async fn l2(&self, code: &ShortCode, now: Instant) -> Option<Option<Arc<CachedLink>>> {
        // Read before the look-up, so that a change during it is noticed later.
        let version = self.version();
        match self.l2.link(code).await {
            Some(entry) if self.is_fresh(code, entry.since, now) => {
                self.l1.put(code, &entry.link, version, now);
                Some(Some(entry.link))
            }
            Some(_) => {
                self.l2.remove(code).await;
                None
            }
            None => self.l2.is_unknown(code).await.then_some(None),
        }
    }

    fn is_fresh(&self, code: &ShortCode, since: Instant, now: Instant) -> bool {
        let freshness = &self.shard(self.shard_of(code)).freshness;
        self.limits.is_alone || freshness.holds(code, since, now)
    }

    /// Looks a code up in Redis, then with `read` in the database (one look-up per code at a time), and caches the result.
    /// `read` gets the changes that had been announced before, where they are known; its result must include them all.
    ///
    /// # Errors
    /// Those of `read`.
    pub async fn look_up<E, R>(
        &self,
        code: &ShortCode,
        now: Instant,
        read: impl Fn(Option<ChangeMark>) -> R,
    ) -> Result<Resolved, E>
    where
        E: Clone + Send + Sync + 'static,
        R: Future<Output = Result<Option<LinkTarget>, E>>,
    {
        let shard = self.shard_of(code);
        let redis = self.shard(shard).redis.as_ref();
        let redis = redis.filter(|redis| redis.is_up());
        for _ in 0..LOOKUP_TRIES {
            let version_before = LookupVersion::now(&self.version);
            let in_redis = match redis {
                Some(redis) => redis.get(code).await,
                None => RedisLookup::default(),
            };
            let (found, source) = if let Some(link) = in_redis.link {
                let inserted = self.l2.insert(code, link, now, &version_before);
                (inserted.await, Source::Redis)
            } else {
                let redis = redis.zip(in_redis.state);
                let read = self.read(code, redis, &read);
                let found = self.l2.look_up_once(code, read, &version_before);
                (found.await?, Source::Database)
            };
            match found {
                LookedUp::Link(link) => {
                    self.l1.put(code, &link, version_before.version, now);
                    return Ok((Some(link), source));
                }
                LookedUp::Unknown => return Ok((None, source)),
                LookedUp::Overtaken => {}
            }
        }
        // Changes come faster than look-ups: this one is neither shared nor cached.
        let link = read(None).await?.map(|link| CachedLink::new(&link, shard));
        Ok((link.map(Arc::new), Source::Database))
    }

    /// Reads a link from the database, and caches it in Redis unless a link changed since `redis` was in this state.
    async fn read<E, R>(
        &self,
        code: &ShortCode,
        redis: Option<(&RedisTier, Arc<TierState>)>,
        read: impl Fn(Option<ChangeMark>) -> R,
    ) -> Result<Option<CachedLink>, E>
    where
        R: Future<Output = Result<Option<LinkTarget>, E>>,
    {
        let shard = self.shard_of(code);
        let announced = redis.as_ref().map(|(_, state)| ChangeMark {
            shard,
            change: state.change.clone(),
        });
        let link = read(announced)
            .await?
            .map(|link| CachedLink::new(&link, shard));
        if let (Some((redis, state)), Some(link)) = (redis, &link) {
            redis.insert(code, link, &state).await;
        }
        Ok(link)
    }

    /// Removes changed codes of one shard from this process and from Redis, and announces the changes to all instances.
    /// Meant for some hundreds of codes. Returns the term of the Redis in which they were announced.
    ///
    /// # Errors
    /// When Redis fails; the codes are removed from this process all the same.
    pub async fn invalidate(
        &self,
        shard: Shard,
        codes: &[ShortCode],
    ) -> Result<Option<i64>, CacheError> {
        let shard = self.shard(shard);
        let removal = async {
            for code in codes {
                self.l2.remove(code).await;
            }
        };
        shard.changes.apply(&self.l2, removal).await;
        let Some(redis) = &shard.redis else {
            return Ok(None);
        };
        let cursor = redis.announce(codes).await?;
        self.catch_up_to(&cursor).await;
        Ok(Some(cursor.term.number))
    }

    /// Whether changes are published to other instances, in Redis.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.shards.iter().any(|shard| shard.redis.is_some())
    }

    /// Makes every link of a shard that is cached in Redis a miss, and drops all links from the memory of every instance:
    /// which of them changed is not known. Returns the term of that Redis.
    ///
    /// # Errors
    /// When Redis fails.
    pub async fn forget(&self, shard: Shard) -> Result<Option<i64>, CacheError> {
        let Some(redis) = &self.shard(shard).redis else {
            self.clear_process().await;
            return Ok(None);
        };
        let cursor = redis.forget_links().await?;
        self.catch_up_to(&cursor).await;
        Ok(Some(cursor.term.number))
    }

    /// All data sets.
    pub fn all_shards(&self) -> impl Iterator<Item = Shard> {
        Shard::all(u16::try_from(self.shards.len()).unwrap_or(u16::MAX))
    }

    /// Drops every link from the memory of this process: which of them changed is not known.
    pub async fn clear_process(&self) {
        let changes = &self.shards[0].changes;
        changes.apply(&self.l2, async { self.l2.clear() }).await;
    }

    /// The newest change of a shard that this process has applied. The version of the cache, read afterwards, includes it.
    #[must_use]
    pub fn newest_change(&self, shard: Shard) -> i64 {
        self.shard(shard).changes.applied()
    }

    /// Applies every change up to the cursor. Costs nothing when there is none.
    pub async fn catch_up_to(&self, cursor: &InvalidationCursor) {
        let shard = self.shard(cursor.shard);
        let Some(redis) = &shard.redis else { return };
        if !shard.changes.is_current(cursor) {
            let catching_up = shard.changes.catch_up(cursor, redis, &self.l2);
            catching_up.await;
        }
        shard.freshness.confirm(cursor.asked);
    }

    /// Asks where the changes of a shard stand, and applies them; to be called before the first look-up.
    ///
    /// # Errors
    /// When Redis is away or refuses to be written to.
    pub async fn synchronise(&self, shard: Shard) -> Result<(), CacheError> {
        if let Some(redis) = &self.shard(shard).redis {
            let cursor = redis.newest_change().await?;
            self.catch_up_to(&cursor).await;
        }
        Ok(())
    }

    /// The same for redirects whose clicks Redis did not acknowledge. While Redis is away, changes wait until it is back. A
    /// Redis that fails twice is away: otherwise deleted links would be followed by a process that takes it for up.
    pub async fn synchronise_unless_away(&self, shard: Shard) {
        let Some(redis) = &self.shard(shard).redis else {
            return;
        };
        let mut is_repeated = false;
        while redis.is_reachable() {
            let Err(CacheError::Unavailable(failure)) = self.synchronise(shard).await else {
                return;
            };
            if is_repeated {
                return redis.trip(&failure);
            }
            is_repeated = true;
        }
    }

    /// The same in the background, while no request waits for it.
    ///
    /// # Errors
    /// When Redis does not answer.
    pub async fn poll_changes(&self, shard: Shard) -> Result<(), CacheError> {
        if let Some(redis) = &self.shard(shard).redis {
            let cursor = redis.newest_change_in_background().await?;
            self.catch_up_to(&cursor).await;
        }
        Ok(())
    }

    /// The approximate number of links in the process, and the bytes that they and the codes without a link take.
    #[must_use]
    pub async fn size(&self) -> (u64, u64) {
        self.l2.size().await
    }
}

#[cfg(test)]
mod tests;
