//! The cache of the process (moka): links, and codes that have no link, each in a bounded space.

use std::sync::Arc;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use moka::future::Cache;
use moka::notification::RemovalCause;
use tokio::sync::{Notify, RwLock, RwLockWriteGuard};

use super::freshness::Lifetimes;
use super::limits::CacheLimits;
use super::link::CachedLink;
use super::version::LookupVersion;
use crate::domain::ShortCode;
use crate::telemetry::metrics::CACHE_EVICTIONS;

/// How long a confirmed link is served before it is looked up again.
const MAX_LIFETIME: Duration = Duration::from_mins(15);

/// How long a link stays in memory that is not asked for. It is longer than the lifetime, so that a link which can be looked up
/// nowhere is still known.
const MAX_IDLE: Duration = Duration::from_hours(1);

/// Initial capacity in links, 4 MB: growing would copy the table just when the load rises.
const INITIAL_CAPACITY: usize = 1 << 16;

#[derive(Clone)]
pub(super) struct L2 {
    links: Table,
    /// Codes without a link. Look-ups under way are shared here, too.
    unknown: Table,
    lifetimes: Arc<Lifetimes>,
    /// Write-locked while changed links are removed, read-locked while one is inserted: so no outdated link is inserted
    /// after its removal.
    changing: Arc<RwLock<()>>,
    /// Told when a host may have changed.
    hosts_changed: Arc<Notify>,
}

/// Links, or codes without one: `None`. Both have one type, so that the cache is compiled once.
type Table = Cache<ShortCode, Option<L2Entry>, RandomState>;

/// A link, and the moment before it was looked up.
#[derive(Clone)]
pub(super) struct L2Entry {
    pub(super) link: Arc<CachedLink>,
    pub(super) since: Instant,
}

/// The result of a look-up, for each request that shares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LookedUp {
    Link(Arc<CachedLink>),
    Unknown,
    /// Some link changed meanwhile, perhaps this link: it must be looked up again.
    Overtaken,
}

/// The result of a look-up that several requests share, and the version of the cache when it began.
struct Shared<E> {
    version: u64,
    found: Result<LookedUp, E>,
}

fn weight(limits: CacheLimits, code: &ShortCode, entry: Option<&L2Entry>) -> u32 {
    match entry {
        Some(entry) => limits.weight_of_link(code, &entry.link),
        None => CacheLimits::weight_of_unknown(code),
    }
}

impl L2 {
    pub(super) fn new(limits: CacheLimits) -> Self {
        let evictions = metrics::counter!(CACHE_EVICTIONS);
        Self {
            links: Cache::builder()
                .max_capacity(limits.link_memory())
                .initial_capacity(INITIAL_CAPACITY)
                .weigher(move |code, entry: &Option<L2Entry>| weight(limits, code, entry.as_ref()))
                .time_to_idle(MAX_IDLE.max(limits.link_ttl))
                .eviction_listener(move |_, _, cause| {
                    if cause == RemovalCause::Size {
                        evictions.increment(1);
                    }
                })
                .build_with_hasher(RandomState::default()),
            unknown: Cache::builder()
                .max_capacity(limits.unknown_memory())
                .weigher(move |code, entry: &Option<L2Entry>| weight(limits, code, entry.as_ref()))
                .time_to_live(limits.unknown_ttl)
                .build_with_hasher(RandomState::default()),
            lifetimes: Arc::new(Lifetimes::up_to(MAX_LIFETIME.max(limits.link_ttl))),
            changing: Arc::default(),
            hosts_changed: Arc::default(),
        }
    }

    /// Told when a host may have changed: such changes come as changes of links do.
    pub(super) fn hosts_changed(&self) -> Arc<Notify> {
        Arc::clone(&self.hosts_changed)
    }

    pub(super) async fn link(&self, code: &ShortCode) -> Option<L2Entry> {
        self.links.get(code).await.flatten()
    }

    /// Whether a link has been in memory for so long that it must be looked up again.
    pub(super) fn is_due(&self, code: &ShortCode, entry: &L2Entry, now: Instant) -> bool {
        now.saturating_duration_since(entry.since) >= self.lifetimes.of(code)
    }

    pub(super) async fn is_unknown(&self, code: &ShortCode) -> bool {
        self.unknown.get(code).await.is_some()
    }

    /// Inserts a link whose look-up began at `since`, unless a change overtook it.
    pub(super) async fn insert(
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
        let entry = L2Entry {
            link: Arc::clone(&link),
            since,
        };
        self.links.insert(code.clone(), Some(entry)).await;
        LookedUp::Link(link)
    }

    /// Inserts the result of `look_up`; concurrent callers for one code share one look-up. A result that a change overtook
    /// is not used: neither by its sharers, nor by a caller of a later version that joins just before it is delivered.
    pub(super) async fn look_up_once<E>(
        &self,
        code: &ShortCode,
        look_up: impl Future<Output = Result<Option<CachedLink>, E>>,
        version_before: &LookupVersion<'_>,
    ) -> Result<LookedUp, E>
    where
        E: Clone + Send + Sync + 'static,
    {
        let asked = Instant::now();
        // Always an error: moka shares errors, too, and does not insert them by itself.
        let shared = async {
            Err(Shared {
                version: version_before.version,
                found: self.look_up(code, asked, look_up, version_before).await,
            })
        };
        match self.unknown.try_get_with_by_ref(code, shared).await {
            Ok(_) => Ok(LookedUp::Unknown),
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
        asked: Instant,
        look_up: impl Future<Output = Result<Option<CachedLink>, E>>,
        version_before: &LookupVersion<'_>,
    ) -> Result<LookedUp, E> {
        // A look-up that ended just before may have found the link.
        if let Some(entry) = self.link(code).await
            && entry.since >= asked
        {
            return Ok(LookedUp::Link(entry.link));
        }
        let since = Instant::now();
        let Some(link) = look_up.await? else {
            let _unchanging = self.changing.read().await;
            if !version_before.is_current() {
                return Ok(LookedUp::Overtaken);
            }
            self.unknown.insert(code.clone(), None).await;
            return Ok(LookedUp::Unknown);
        };
        Ok(self.insert(code, link, since, version_before).await)
    }

    /// While this guard exists, no link is inserted.
    pub(super) async fn block_inserts(&self) -> RwLockWriteGuard<'_, ()> {
        self.changing.write().await
    }

    pub(super) async fn remove(&self, code: &ShortCode) {
        if code.is_of_domain() {
            self.hosts_changed.notify_one();
            return;
        }
        self.links.invalidate(code).await;
        self.unknown.invalidate(code).await;
    }

    /// Codes without a link may have one by now.
    pub(super) fn forget_unknown(&self) {
        self.unknown.invalidate_all();
    }

    pub(super) fn clear(&self) {
        self.hosts_changed.notify_one();
        self.links.invalidate_all();
        self.unknown.invalidate_all();
    }

    /// The number of links, and the bytes that they and the codes without a link take.
    pub(super) async fn size(&self) -> (u64, u64) {
        // moka counts the newest entries late if there are few requests.
        self.links.run_pending_tasks().await;
        let bytes = self.links.weighted_size() + self.unknown.weighted_size();
        (self.links.entry_count(), bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::domain::{LinkId, LinkTarget, Shard, TargetUrl, UserId};

    fn link() -> CachedLink {
        let id = LinkId::parse(1).unwrap();
        let target = TargetUrl::from_stored("https://example.com/");
        CachedLink::new(&LinkTarget::of(id, UserId(1), target), Shard::ONLY)
    }

    #[tokio::test]
    async fn a_caller_that_joins_a_look_up_after_a_change_does_not_use_its_result() {
        let l2 = L2::new(CacheLimits::of_a_test());
        let code = ShortCode::parse("abc123").unwrap();
        let look_up = async {
            tokio::task::yield_now().await;
            Ok::<_, ()>(Some(link()))
        };
        let nothing = async || Ok(None);
        // The caller that began it sees no change, as if the change came just after the look-up ended.
        let (before, after) = (AtomicU64::new(7), AtomicU64::new(9));
        let (before, after) = (LookupVersion::now(&before), LookupVersion::now(&after));
        let (began, at_once, after_a_change) = tokio::join!(
            l2.look_up_once(&code, look_up, &before),
            l2.look_up_once(&code, nothing(), &before),
            l2.look_up_once(&code, nothing(), &after),
        );
        assert_eq!(began, Ok(LookedUp::Link(Arc::new(link()))));
        assert_eq!(at_once, began);
        assert_eq!(after_a_change, Ok(LookedUp::Overtaken));
    }

    #[tokio::test]
    async fn a_link_that_a_change_overtook_is_not_inserted() {
        let l2 = L2::new(CacheLimits::of_a_test());
        let code = ShortCode::parse("abc123").unwrap();
        let version = AtomicU64::new(0);
        let version_before = LookupVersion::now(&version);
        let changing = l2.block_inserts().await;
        let inserted = l2.insert(&code, link(), Instant::now(), &version_before);
        let change = async {
            tokio::task::yield_now().await;
            l2.remove(&code).await;
            version.fetch_add(1, Ordering::AcqRel);
            drop(changing);
        };
        assert_eq!(tokio::join!(inserted, change).0, LookedUp::Overtaken);
        assert!(l2.link(&code).await.is_none());
    }
}
