//! What this process remembers: links, and codes known to be unknown, each in a bounded space.

use std::sync::Arc;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use moka::Expiry;
use moka::future::Cache;
use moka::notification::RemovalCause;
use tokio::sync::{RwLock, RwLockWriteGuard};

use super::freshness::Lifetimes;
use super::invalidation::LookupVersion;
use super::{CacheLimits, CachedLink};
use crate::domain::ShortCode;
use crate::telemetry::metrics::CACHE_EVICTIONS;

/// Longest time a confirmed link stays in memory before Redis is asked again, which also renews it there.
const HELD_AT_MOST: Duration = Duration::from_mins(15);

/// Links that there is room for at first, 4 MB: a table that grows is copied, just when all come at once.
const ROOM_AT_FIRST: u64 = 1 << 16;

#[derive(Clone)]
pub(super) struct L2 {
    links: Cache<ShortCode, L2Entry, RandomState>,
    unknown: Cache<ShortCode, (), RandomState>,
    /// L2Entry to write by who forgets changed links, to read by who remembers one: so nobody remembers what a
    /// change has overtaken just now.
    changing: Arc<RwLock<()>>,
}

/// A link, and when it was looked up: the moment before.
#[derive(Clone)]
pub(super) struct L2Entry {
    pub(super) link: Arc<CachedLink>,
    pub(super) since: Instant,
}

/// What a look-up says to one of those who share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LookedUp {
    Link(Arc<CachedLink>),
    Unknown,
    /// Some link changed meanwhile, perhaps this one: it is to be looked up again.
    Overtaken,
}

/// What came of a look-up that several visitors share, and the version of the cache in which it began.
struct Shared<E> {
    version: u64,
    found: Result<LookedUp, E>,
}

impl Expiry<ShortCode, L2Entry> for Lifetimes {
    fn expire_after_create(&self, code: &ShortCode, _: &L2Entry, _: Instant) -> Option<Duration> {
        Some(self.of(code))
    }
}

impl L2 {
    pub(super) fn new(limits: CacheLimits) -> Self {
        let evictions = metrics::counter!(CACHE_EVICTIONS);
        Self {
            links: Cache::builder()
                .max_capacity(limits.links)
                .initial_capacity(limits.links.min(ROOM_AT_FIRST) as usize)
                .expire_after(Lifetimes::up_to(HELD_AT_MOST.max(limits.link_ttl)))
                .eviction_listener(move |_, _, cause| {
                    if cause == RemovalCause::Size {
                        evictions.increment(1);
                    }
                })
                .build_with_hasher(RandomState::default()),
            unknown: Cache::builder()
                .max_capacity(limits.unknown)
                .time_to_live(limits.unknown_ttl)
                .build_with_hasher(RandomState::default()),
            changing: Arc::default(),
        }
    }

    pub(super) async fn link(&self, code: &ShortCode) -> Option<L2Entry> {
        self.links.get(code).await
    }

    pub(super) async fn is_unknown(&self, code: &ShortCode) -> bool {
        self.unknown.get(code).await.is_some()
    }

    /// Remembers a link that was looked up from `since` on, unless a change overtook it.
    pub(super) async fn remember(
        &self,
        code: &ShortCode,
        link: CachedLink,
        since: Instant,
        version_before: &LookupVersion<'_>,
    ) -> LookedUp {
        let _unchanging = self.changing.read().await;
        if !version_before.is_current() {
            return LookedUp::Overtaken;
        }
        let link = Arc::new(link);
        let held = L2Entry {
            link: Arc::clone(&link),
            since,
        };
        self.links.insert(code.clone(), held).await;
        LookedUp::Link(link)
    }

    /// Remembers what `look_up` finds; callers for one code share one look-up. Nobody uses what a change overtook:
    /// neither those who shared it then nor who joins between its end and its being told, as of a later version.
    pub(super) async fn look_up_once<E>(
        &self,
        code: &ShortCode,
        look_up: impl Future<Output = Result<Option<CachedLink>, E>>,
        version_before: &LookupVersion<'_>,
    ) -> Result<LookedUp, E>
    where
        E: Clone + Send + Sync + 'static,
    {
        // Always an error: moka has it shared, and does not remember it of its own accord.
        let shared = async {
            Err(Shared {
                version: version_before.version,
                found: self.look_up(code, look_up, version_before).await,
            })
        };
        match self.links.try_get_with_by_ref(code, shared).await {
            Ok(held) => Ok(LookedUp::Link(held.link)),
            Err(shared) => match &shared.found {
                Err(error) => Err(error.clone()),
                Ok(_) if shared.version != version_before.version => Ok(LookedUp::Overtaken),
                Ok(found) => Ok(found.clone()),
            },
        }
    }

    async fn look_up<E>(
        &self,
        code: &ShortCode,
        look_up: impl Future<Output = Result<Option<CachedLink>, E>>,
        version_before: &LookupVersion<'_>,
    ) -> Result<LookedUp, E> {
        // By those who came just before.
        if self.is_unknown(code).await {
            return Ok(LookedUp::Unknown);
        }
        let since = Instant::now();
        let Some(link) = look_up.await? else {
            if !version_before.is_current() {
                return Ok(LookedUp::Overtaken);
            }
            self.unknown.insert(code.clone(), ()).await;
            return Ok(LookedUp::Unknown);
        };
        Ok(self.remember(code, link, since, version_before).await)
    }

    /// While it is held, nothing is remembered.
    pub(super) async fn changing(&self) -> RwLockWriteGuard<'_, ()> {
        self.changing.write().await
    }

    pub(super) async fn forget(&self, code: &ShortCode) {
        self.links.invalidate(code).await;
        self.unknown.invalidate(code).await;
    }

    pub(super) fn forget_all(&self) {
        self.links.invalidate_all();
        self.unknown.invalidate_all();
    }

    pub(super) async fn link_count(&self) -> u64 {
        // Where little is asked, moka has not counted the newest yet.
        self.links.run_pending_tasks().await;
        self.links.entry_count()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::domain::{LinkId, Location, Shard};

    fn link() -> CachedLink {
        CachedLink {
            id: LinkId::parse(1).unwrap(),
            shard: Shard::ONLY,
            location: Location::parse("https://example.com/").unwrap(),
            is_active: true,
        }
    }

    #[tokio::test]
    async fn who_joins_a_look_up_after_a_change_does_not_use_what_it_found() {
        let process = L2::new(CacheLimits::of_a_test());
        let code = ShortCode::parse("abc123").unwrap();
        let look_up = async {
            tokio::task::yield_now().await;
            Ok::<_, ()>(Some(link()))
        };
        let nothing = async || Ok(None);
        // The one who began it sees no change, as where it comes just after the look-up's end.
        let (before, after) = (AtomicU64::new(7), AtomicU64::new(9));
        let (before, after) = (LookupVersion::now(&before), LookupVersion::now(&after));
        let (began, at_once, after_a_change) = tokio::join!(
            process.look_up_once(&code, look_up, &before),
            process.look_up_once(&code, nothing(), &before),
            process.look_up_once(&code, nothing(), &after),
        );
        assert_eq!(began, Ok(LookedUp::Link(Arc::new(link()))));
        assert_eq!(at_once, began);
        assert_eq!(after_a_change, Ok(LookedUp::Overtaken));
    }

    #[tokio::test]
    async fn what_a_change_overtakes_is_not_remembered() {
        let process = L2::new(CacheLimits::of_a_test());
        let code = ShortCode::parse("abc123").unwrap();
        let version = AtomicU64::new(0);
        let version_before = LookupVersion::now(&version);
        let changing = process.changing().await;
        let remembered = process.remember(&code, link(), Instant::now(), &version_before);
        let change = async {
            tokio::task::yield_now().await;
            process.forget(&code).await;
            version.fetch_add(1, Ordering::AcqRel);
            drop(changing);
        };
        assert_eq!(tokio::join!(remembered, change).0, LookedUp::Overtaken);
        assert!(process.link(&code).await.is_none());
    }
}
