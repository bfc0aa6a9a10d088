//! What the process and Redis remember of links, and how a change is felt everywhere at once.
//!
//! A lookup goes to the worker's own table, to the process (moka), then to Redis, then to whoever can read
//! the database (the caller: this module does not know the store). Unknown codes are remembered too, for a
//! short time, in a space of their own, so that a scanner cannot push warm links out.
//!
//! A change of a link raises a number in Redis and is told in a stream. Every click batch brings the newest
//! number home; an instance that is behind forgets what changed before it releases the batch
//! ([`LinkCache::catch_up_to`]), and otherwise knows that what it remembers is as it should be, see `belief`. A
//! visitor compares [`LinkCache::version`] from before the lookup with that after the click: where it
//! moved, it looks again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::domain::{Click, LinkId, LinkTarget, Location, Shard, ShortCode};
use crate::redis::{DedicatedConnection, RedisFailure, RedisShard, RedisShards};

mod freshness;
mod invalidation;
mod l1;
mod l2;
mod lookup_batcher;
mod redis_tier;

use freshness::Freshness;
use invalidation::{Invalidations, LookupVersion};
use l1::L1;
use l2::{L2, LookedUp};
use lookup_batcher::RedisLookup;
use redis_tier::RedisTier;

pub use invalidation::InvalidationCursor;
pub use lookup_batcher::LookupBatcher;

/// Who knew a link, or that there is none. Whoever shares a look-up of somebody else's has it from there, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// What is held in memory.
    Process,
    /// Redis.
    Redis,
    /// The database.
    Database,
}

/// The link that has a code, if any has, and who knew.
pub type Resolved = (Option<Arc<CachedLink>>, Source);

/// How much the process remembers, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct CacheLimits {
    /// Links held in the process at most.
    pub links: u64,
    /// How long a link is served at most without word that it did not change: the last quarter of it perhaps
    /// from a worker's own table alone.
    pub link_ttl: Duration,
    /// Whether this process hears of every change by itself: then every link in memory is as it should be.
    pub is_alone: bool,
    /// Unknown codes held in the process at most.
    pub unknown: u64,
    /// How long an unknown code is held at most.
    pub unknown_ttl: Duration,
    /// How many have a table of their own.
    pub workers: usize,
}

impl CacheLimits {
    fn process_ttl(&self) -> Duration {
        self.link_ttl / 4 * 3
    }

    fn near_ttl(&self) -> Duration {
        self.link_ttl / 4
    }

    #[cfg(test)]
    fn of_a_test() -> Self {
        Self {
            links: 100,
            link_ttl: Duration::from_mins(1),
            is_alone: false,
            unknown: 100,
            unknown_ttl: Duration::from_secs(1),
            workers: 1,
        }
    }
}

/// Which changes of a shard's links Redis had been told of at some moment: those up to a number, which never
/// comes twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeMark {
    /// Of which links.
    pub shard: Shard,
    change: String,
}

/// What a redirect needs of a link, ready to be sent.
#[derive(Debug, PartialEq, Eq)]
pub struct CachedLink {
    /// Under which clicks are counted.
    pub id: LinkId,
    /// In which data set.
    pub shard: Shard,
    /// Where it leads.
    pub location: Location,
    /// An inactive link is not followed.
    pub is_active: bool,
}

impl CachedLink {
    fn new(link: &LinkTarget, shard: Shard) -> Self {
        Self {
            id: link.id,
            shard,
            location: link.target.location(),
            is_active: link.is_active,
        }
    }

    /// A click of it.
    #[must_use]
    pub fn click(&self) -> Click {
        Click::new(self.id, self.shard)
    }
}

/// What the process and Redis remember of links; cheap to clone.
#[derive(Clone)]
pub struct LinkCache {
    limits: CacheLimits,
    near: Arc<L1>,
    process: L2,
    version: Arc<AtomicU64>,
    shards: Arc<[CacheShard]>,
}

/// What is particular to a data set; without Redis there is one, too.
struct CacheShard {
    changes: Arc<Invalidations>,
    freshness: Arc<Freshness>,
    remote: Option<RedisTier>,
}

/// Redis could not be told of a change; it is told later, from the outbox.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// Redis is away.
    #[error(transparent)]
    Unavailable(#[from] RedisFailure),
}

/// How often a lookup that is overtaken by changes is made again before it is made for oneself alone.
const LOOKUP_TRIES: usize = 5;

impl LinkCache {
    /// An empty cache; with `redis` shared between instances.
    #[must_use]
    pub fn new(limits: CacheLimits, redis: Option<&RedisShards>) -> Self {
        let version = Arc::default();
        let shard = |redis: Option<&RedisShard>| CacheShard {
            changes: Arc::new(Invalidations::new(&version)),
            freshness: Arc::new(Freshness::new(limits.process_ttl())),
            // Nobody looks anything up here: workers do, with caches of their own.
            remote: redis.map(|redis| RedisTier::new(redis.clone()).0),
        };
        let shards = match redis {
            Some(redis) => redis.iter().map(|redis| shard(Some(redis))).collect(),
            None => [shard(None)].into(),
        };
        Self {
            limits,
            near: Arc::new(L1::new(limits.workers, limits.near_ttl())),
            process: L2::new(limits),
            shards,
            version,
        }
    }

    /// The same cache for a worker: with a table and Redis connections of its own, and with what has to run
    /// for its look-ups in Redis to be answered.
    #[must_use]
    pub fn for_worker(&self) -> (Self, Vec<LookupBatcher>) {
        let mut asked = Vec::new();
        let mut for_worker = |remote: &RedisTier| {
            let (remote, misses) = remote.for_worker();
            asked.push(misses);
            remote
        };
        let shard = |shard: &CacheShard| CacheShard {
            changes: Arc::clone(&shard.changes),
            freshness: Arc::clone(&shard.freshness),
            remote: shard.remote.as_ref().map(&mut for_worker),
        };
        let shards = self.shards.iter().map(shard).collect();
        let cache = Self {
            near: Arc::new(L1::new(self.limits.workers, self.limits.near_ttl())),
            shards,
            ..self.clone()
        };
        (cache, asked)
    }

    /// Moves whenever a change of any link has been taken in.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The data set of a code.
    #[must_use]
    pub fn shard_of(&self, code: &ShortCode) -> Shard {
        Shard::of_code(code, u8::try_from(self.shards.len()).unwrap_or(u8::MAX))
    }

    fn shard(&self, shard: Shard) -> &CacheShard {
        &self.shards[shard.index()]
    }

    /// What the worker's own table has.
    #[must_use]
    pub fn l1(&self, code: &ShortCode, now: Instant) -> Option<Arc<CachedLink>> {
        self.near.get(code, self.version(), now)
    }

    /// What is held in the process: `Some(None)` is a code known to be unknown.
    pub async fn l2(&self, code: &ShortCode, now: Instant) -> Option<Option<Arc<CachedLink>>> {
        // Before the look-up: what changes during it is not believed later.
        let version = self.version();
        match self.process.link(code).await {
            Some(held) if self.is_believed(code, held.since, now) => {
                self.near.put(code, &held.link, version, now);
                Some(Some(held.link))
            }
            Some(_) => {
                self.process.forget(code).await;
                None
            }
            None => self.process.is_unknown(code).await.then_some(None),
        }
    }

    fn is_believed(&self, code: &ShortCode, since: Instant, now: Instant) -> bool {
        let freshness = &self.shard(self.shard_of(code)).freshness;
        self.limits.is_alone || freshness.holds(code, since, now)
    }

    /// Looks a code up in Redis, then with `read` in the database, there one look-up per code at a time,
    /// and remembers what was found. `read` is handed what Redis had been told before, where that is known:
    /// what it finds must have all those changes in it.
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
        let remote = self.shard(shard).remote.as_ref();
        let remote = remote.filter(|remote| remote.is_up());
        for _ in 0..LOOKUP_TRIES {
            let version_before = LookupVersion::now(&self.version);
            let asked = match remote {
                Some(remote) => remote.get(code).await,
                None => RedisLookup::default(),
            };
            let (found, source) = if let Some(link) = asked.link {
                let remembered = self.process.remember(code, link, now, &version_before);
                (remembered.await, Source::Redis)
            } else {
                let remote = remote.zip(asked.newest_change);
                let read = self.read(code, remote, &read);
                let found = self.process.look_up_once(code, read, &version_before);
                (found.await?, Source::Database)
            };
            match found {
                LookedUp::Link(link) => {
                    self.near.put(code, &link, version_before.version, now);
                    return Ok((Some(link), source));
                }
                LookedUp::Unknown => return Ok((None, source)),
                LookedUp::Overtaken => {}
            }
        }
        // Invalidations come faster than look-ups: one of one's own, remembered nowhere.
        let link = read(None).await?.map(|link| CachedLink::new(&link, shard));
        Ok((link.map(Arc::new), Source::Database))
    }

    /// Reads a link from the database, and has Redis remember it, which told the number of the newest
    /// change before.
    async fn read<E, R>(
        &self,
        code: &ShortCode,
        remote: Option<(&RedisTier, Arc<str>)>,
        read: impl Fn(Option<ChangeMark>) -> R,
    ) -> Result<Option<CachedLink>, E>
    where
        R: Future<Output = Result<Option<LinkTarget>, E>>,
    {
        let shard = self.shard_of(code);
        // Without a number the data set is empty: what was told before is not known.
        let told = remote
            .as_ref()
            .filter(|(_, change)| !change.is_empty())
            .map(|(_, change)| ChangeMark {
                shard,
                change: change.to_string(),
            });
        let link = read(told).await?.map(|link| CachedLink::new(&link, shard));
        if let (Some((remote, newest_change)), Some(link)) = (remote, &link) {
            remote.remember(code, link, &newest_change).await;
        }
        Ok(link)
    }

    /// Forgets changed codes of one shard in this process, in Redis, and through Redis in every instance;
    /// some hundreds at most.
    ///
    /// # Errors
    /// When Redis cannot be told; this process has forgotten them all the same.
    pub async fn invalidate(&self, shard: Shard, codes: &[ShortCode]) -> Result<(), CacheError> {
        let shard = self.shard(shard);
        let forgetting = async {
            for code in codes {
                self.process.forget(code).await;
            }
        };
        shard.changes.take_in(&self.process, forgetting).await;
        if let Some(remote) = &shard.remote {
            let cursor = remote.forget(codes).await?;
            self.catch_up_to(&cursor).await;
        }
        Ok(())
    }

    /// Takes in every change up to the one that was seen in Redis. Free when there is none.
    pub async fn catch_up_to(&self, cursor: &InvalidationCursor) {
        let shard = self.shard(cursor.shard);
        let Some(remote) = &shard.remote else { return };
        if !shard.changes.is_current(cursor) {
            let catching_up = shard.changes.catch_up(cursor, remote, &self.process);
            catching_up.await;
        }
        shard.freshness.confirm(cursor.asked);
    }

    /// Learns where the changes of a shard stand; to be called before the first lookup.
    ///
    /// # Errors
    /// When Redis is away or refuses to be written to.
    pub async fn synchronise(&self, shard: Shard) -> Result<(), CacheError> {
        if let Some(remote) = &self.shard(shard).remote {
            let cursor = remote.state().await?;
            self.catch_up_to(&cursor).await;
        }
        Ok(())
    }

    /// Hears where the changes of a shard stand, while nobody waits for it.
    ///
    /// # Errors
    /// When Redis does not answer.
    pub async fn poll_changes(&self, shard: Shard) -> Result<(), CacheError> {
        if let Some(remote) = &self.shard(shard).remote {
            let cursor = remote.state_at_leisure().await?;
            self.catch_up_to(&cursor).await;
        }
        Ok(())
    }

    /// Links held in the process, about.
    #[must_use]
    pub async fn link_count(&self) -> u64 {
        self.process.link_count().await
    }
}
