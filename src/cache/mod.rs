//! What the process and Redis remember of links, and how a change is felt everywhere at once.
//!
//! A lookup goes to the process (moka), then to Redis, then to whoever can read the database (the
//! caller: this module does not know the store). Unknown codes are remembered too, for a short time,
//! in a space of their own, so that a scanner cannot push warm links out.
//!
//! A change of a link raises a number in Redis and is told in a stream. Every click batch brings the
//! newest number home; an instance that is behind forgets what changed before it releases the batch
//! ([`LinkCache::observe`]). A visitor compares [`LinkCache::version`] from before the lookup with
//! that after the click: where it moved, it looks again.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::{LinkId, LinkTarget, Location, ShortCode};
use crate::shared::{Lane, RedisFailure, SharedRedis};

mod changes;
mod process;
mod remote;

use changes::Changes;
use process::ProcessCache;
use remote::Remote;

pub use changes::Observed;

/// How much the process remembers, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct CacheLimits {
    /// Links held in the process at most.
    pub links: u64,
    /// How long a link is held at most.
    pub link_ttl: Duration,
    /// Unknown codes held in the process at most.
    pub unknown: u64,
    /// How long an unknown code is held at most.
    pub unknown_ttl: Duration,
}

/// What a redirect needs of a link, ready to be sent.
#[derive(Debug, PartialEq, Eq)]
pub struct CachedLink {
    /// Under which clicks are counted.
    pub id: LinkId,
    /// Where it leads.
    pub location: Location,
    /// An inactive link is not followed.
    pub is_active: bool,
}

impl From<LinkTarget> for CachedLink {
    fn from(link: LinkTarget) -> Self {
        Self {
            id: link.id,
            location: link.target.location(),
            is_active: link.is_active,
        }
    }
}

/// What the process and Redis remember of links; cheap to clone.
#[derive(Clone)]
pub struct LinkCache {
    process: ProcessCache,
    changes: Arc<Changes>,
    remote: Option<Remote>,
}

/// Where a link was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// In this process.
    Process,
    /// In Redis or the database.
    Elsewhere,
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
    pub fn new(limits: CacheLimits, redis: Option<SharedRedis>) -> Self {
        Self {
            process: ProcessCache::new(limits),
            changes: Arc::default(),
            remote: redis.map(Remote::new),
        }
    }

    /// The same cache with a Redis connection of its own, for another runtime.
    #[must_use]
    pub fn with_own_lane(&self) -> Self {
        Self {
            remote: self.remote.as_ref().map(Remote::with_own_lane),
            ..self.clone()
        }
    }

    /// Moves whenever a change of any link has been taken in.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.changes.version()
    }

    /// What is held in the process: `Some(None)` is a code known to be unknown.
    pub async fn held(&self, code: &ShortCode) -> Option<Option<Arc<CachedLink>>> {
        match self.process.link(code).await {
            Some(link) => Some(Some(link)),
            None => self.process.is_unknown(code).await.then_some(None),
        }
    }

    /// Looks a code up in Redis, then with `read` in the database, one lookup per code at a time,
    /// and remembers what was found.
    ///
    /// # Errors
    /// Those of `read`.
    pub async fn look_up<E, R>(
        &self,
        code: &ShortCode,
        read: impl Fn() -> R,
    ) -> Result<Option<Arc<CachedLink>>, E>
    where
        E: Clone + Send + Sync + 'static,
        R: Future<Output = Result<Option<LinkTarget>, E>>,
    {
        for _ in 0..LOOKUP_TRIES {
            let version = self.version();
            let is_current = || self.version() == version;
            let found = self
                .process
                .fetch(code, self.fetch(code, &read), is_current)
                .await?;
            match found {
                // What was taken in meanwhile may have missed what was remembered just now.
                Some(found) if self.version() == version => return Ok(found),
                Some(_) => self.process.forget(code).await,
                None => {}
            }
        }
        // Changes come faster than look-ups: one of one's own, remembered nowhere.
        Ok(read().await?.map(CachedLink::from).map(Arc::new))
    }

    async fn fetch<E, R>(
        &self,
        code: &ShortCode,
        read: impl Fn() -> R,
    ) -> Result<Option<CachedLink>, E>
    where
        R: Future<Output = Result<Option<LinkTarget>, E>>,
    {
        let Some(remote) = self.remote.as_ref().filter(|remote| remote.is_up()) else {
            return Ok(read().await?.map(CachedLink::from));
        };
        if let Some(link) = remote.get(code).await {
            return Ok(Some(link));
        }
        let newest_change = remote.newest_change().await;
        let link = read().await?.map(CachedLink::from);
        if let (Some(link), Some(newest_change)) = (&link, newest_change) {
            remote.remember(code, link, &newest_change).await;
        }
        Ok(link)
    }

    /// Forgets a changed code in this process, in Redis, and through Redis in every instance.
    ///
    /// # Errors
    /// When Redis cannot be told; this process has forgotten it all the same.
    pub async fn forget(&self, code: &ShortCode) -> Result<(), CacheError> {
        self.changes.taken_in(self.process.forget(code)).await;
        if let Some(remote) = &self.remote {
            let observed = remote.forget(code).await?;
            self.observe(&observed).await;
        }
        Ok(())
    }

    /// Takes in every change up to the one that was seen in Redis. Free when there is none.
    pub async fn observe(&self, observed: &Observed) {
        if let Some(remote) = self
            .remote
            .as_ref()
            .filter(|_| !self.changes.is_current(observed))
        {
            self.changes.catch_up(observed, remote, &self.process).await;
        }
    }

    /// Learns where the changes stand; to be called before the first lookup, and when Redis is back.
    ///
    /// # Errors
    /// When Redis is away or refuses to be written to.
    pub async fn synchronise(&self) -> Result<(), CacheError> {
        if let Some(remote) = &self.remote {
            let observed = remote.state().await?;
            self.observe(&observed).await;
        }
        Ok(())
    }

    /// Links held in the process, about.
    #[must_use]
    pub fn links_held(&self) -> u64 {
        self.process.links_held()
    }
}
