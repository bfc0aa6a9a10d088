//! The cache of links: the tiers put together, and kept current.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::{Either, select};
use tokio::time::{sleep, timeout};

use super::cursor::ChangeMark;
use super::freshness::Freshness;
use super::invalidation::Invalidations;
use super::l1::L1;
use super::l2::{L2, LookedUp};
use super::limits::CacheLimits;
use super::link::CachedLink;
use super::lookup_batcher::{LookupBatcher, RedisLookup, TierState};
use super::redis_tier::RedisTier;
use super::unannounced::Unannounced;
use super::version::LookupVersion;
use crate::domain::{LinkTarget, Shard, ShortCode};
use crate::shared_redis::{RedisShard, RedisShards};

mod changes;

pub use changes::{BeforeReading, CacheError, ChangeNote};

/// Where a link was found, or that no link was found. A request that shares a look-up has its source.
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

/// The part of the cache that belongs to one data set; without Redis there is one part, too.
struct CacheShard {
    changes: Arc<Invalidations>,
    freshness: Arc<Freshness>,
    unannounced: Arc<Unannounced>,
    redis: Option<RedisTier>,
}

/// How often a look-up that a change overtook is repeated, before a look-up whose result is neither shared nor cached.
const LOOKUP_TRIES: usize = 5;

/// How long a look-up waits for a Redis that does not answer or went away just now, if the database cannot be asked either.
const REDIS_WAIT: Duration = Duration::from_secs(4);

/// The pause before a Redis is asked again that is taken for up.
const REDIS_PAUSE: Duration = Duration::from_millis(50);

impl LinkCache {
    /// An empty cache. With `redis` it is shared between instances.
    #[must_use]
    pub fn new(limits: CacheLimits, redis: Option<&RedisShards>) -> Self {
        let version = Arc::default();
        let shard = |redis: Option<&RedisShard>| CacheShard {
            changes: Arc::new(Invalidations::new(&version)),
            freshness: Arc::new(Freshness::new(limits.l2_ttl())),
            unannounced: Arc::default(),
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
            unannounced: Arc::clone(&shard.unannounced),
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
        if self.shard(self.shard_of(code)).changes.is_behind() {
            return None;
        }
        let Some(entry) = self.l2.link(code).await else {
            return self.l2.is_unknown(code).await.then_some(None);
        };
        if self.l2.is_due(code, &entry, now) || !self.is_fresh(code, entry.since, now) {
            return None;
        }
        self.l1.put(code, &entry.link, version, now);
        Some(Some(entry.link))
    }

    /// The link as this process knows it, for a code that can be looked up nowhere. It may be followed for as long as a link is
    /// served without confirmation.
    async fn last_known(&self, code: &ShortCode, now: Instant) -> Option<Arc<CachedLink>> {
        let entry = self.l2.link(code).await?;
        self.is_fresh(code, entry.since, now).then_some(entry.link)
    }

    fn is_fresh(&self, code: &ShortCode, since: Instant, now: Instant) -> bool {
        let freshness = &self.shard(self.shard_of(code)).freshness;
        self.limits.is_alone || freshness.holds(code, since, now)
    }

    /// Looks a code up in Redis, then with `read` in the database (one look-up per code at a time), and caches the result.
    /// `read` gets the changes that had been announced before, if they are known; its result must include them all. If it
    /// fails, a link in memory is still followed, and a Redis that went away just now is waited for.
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
        let (started, mut overtaken) = (Instant::now(), 0);
        while overtaken < LOOKUP_TRIES {
            let version_before = LookupVersion::now(&self.version);
            let redis = self.trusted_redis(code);
            let in_redis = match redis {
                Some(redis) => redis.get(code).await,
                None => RedisLookup::default(),
            };
            let (found, source) = if let Some(mut link) = in_redis.link {
                if let Some(alias) = link.alias() {
                    link.shard = self.shard_of(&alias.link);
                }
                let inserted = self.l2.insert(code, link, now, &version_before);
                (inserted.await, Source::Redis)
            } else {
                let redis = redis.zip(in_redis.state);
                let has_answered = redis.is_some();
                let read = self.read(code, redis, &read);
                // Boxed: Redis has most links, and every look-up would have room for it.
                let found = Box::pin(self.l2.look_up_once(code, read, &version_before));
                match self.unless_redis_is_back(shard, started, found).await {
                    Some(Ok(found)) => (found, Source::Database),
                    Some(Err(error)) => {
                        if let Some(link) = self.last_known(code, now).await {
                            if !self.shard(shard).changes.is_behind() {
                                self.l1.put(code, &link, version_before.version, now);
                            }
                            return Ok((Some(link), Source::Process));
                        }
                        if has_answered || !self.is_worth_another_try(shard, started).await {
                            return Err(error);
                        }
                        continue;
                    }
                    None => continue,
                }
            };
            match found {
                LookedUp::Link(link) => {
                    self.l1.put(code, &link, version_before.version, now);
                    return Ok((Some(link), source));
                }
                LookedUp::Unknown => return Ok((None, source)),
                LookedUp::Overtaken => overtaken += 1,
            }
        }
        // Changes come faster than look-ups: this look-up is neither shared nor cached.
        match read(None).await {
            Ok(link) => {
                let link = link.map(|link| Arc::new(self.cached(code, &link)));
                Ok((link, Source::Database))
            }
            Err(error) => match self.last_known(code, now).await {
                Some(link) => Ok((Some(link), Source::Process)),
                None => Err(error),
            },
        }
    }

    /// Redis while it is up, for a code of which it has every change that this process knows.
    fn trusted_redis(&self, code: &ShortCode) -> Option<&RedisTier> {
        let shard = self.shard(self.shard_of(code));
        let redis = shard.redis.as_ref().filter(|redis| redis.is_up())?;
        (!shard.unannounced.has(code)).then_some(redis)
    }

    /// The result of a look-up in the database; `None` if Redis comes back first, in time, and may have the link.
    async fn unless_redis_is_back<T>(
        &self,
        shard: Shard,
        started: Instant,
        looking_up: impl Future<Output = T> + Unpin,
    ) -> Option<T> {
        match &self.shard(shard).redis {
            Some(redis) if !redis.is_up() && started.elapsed() < REDIS_WAIT => {
                // Redis first: otherwise each request that shares the look-up would start it again before it is dropped.
                match select(Box::pin(redis.is_back()), looking_up).await {
                    Either::Left(_) => None,
                    Either::Right((found, _)) => Some(found),
                }
            }
            _ => Some(looking_up.await),
        }
    }

    /// Waits for a Redis that went away just now, or that did not answer a look-up which began at `started`. Returns whether it may
    /// answer now.
    async fn is_worth_another_try(&self, shard: Shard, started: Instant) -> bool {
        let Some(redis) = &self.shard(shard).redis else {
            return false;
        };
        let waited = started.elapsed().max(redis.away_for());
        let left = REDIS_WAIT.saturating_sub(waited);
        if redis.is_up() {
            sleep(REDIS_PAUSE.min(left)).await;
            return !left.is_zero();
        }
        timeout(left, redis.is_back()).await.is_ok()
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
        let link = read(announced).await?.map(|link| self.cached(code, &link));
        if let (Some((redis, state)), Some(link)) = (redis, &link) {
            redis.insert(code, link, &state).await;
        }
        Ok(link)
    }

    /// A link that was looked up by this code.
    fn cached(&self, code: &ShortCode, link: &LinkTarget) -> CachedLink {
        CachedLink::new(link, self.shard_of(link.own_code(code)))
    }

    /// The approximate number of links in the process, and the bytes that they and the codes without a link take.
    #[must_use]
    pub async fn size(&self) -> (u64, u64) {
        self.l2.size().await
    }
}

#[cfg(test)]
mod tests;
