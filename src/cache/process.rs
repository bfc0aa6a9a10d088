//! What this process remembers: links, and codes known to be unknown, each in a bounded space.

use std::sync::Arc;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use moka::Expiry;
use moka::future::Cache;
use moka::notification::RemovalCause;

use super::belief::Lifetimes;
use super::{CacheLimits, CachedLink};
use crate::domain::ShortCode;
use crate::telemetry::metrics::CACHE_EVICTIONS;

/// How long a link is held that stays believed: then Redis is asked again, and learns that the link is in use.
const HELD_AT_MOST: Duration = Duration::from_mins(15);

#[derive(Clone)]
pub(super) struct ProcessCache {
    links: Cache<ShortCode, Held, RandomState>,
    unknown: Cache<ShortCode, (), RandomState>,
}

/// A link, and when it was looked up: the moment before.
#[derive(Clone)]
pub(super) struct Held {
    pub(super) link: Arc<CachedLink>,
    pub(super) since: Instant,
}

/// A lookup's end other than a link; moka does not remember those.
#[derive(Clone)]
enum NoLink<E> {
    Unknown,
    /// Some link changed while it was looked up: perhaps this one.
    Overtaken,
    Failed(E),
}

impl Expiry<ShortCode, Held> for Lifetimes {
    fn expire_after_create(&self, code: &ShortCode, _: &Held, _: Instant) -> Option<Duration> {
        Some(self.of(code))
    }
}

impl ProcessCache {
    pub(super) fn new(limits: CacheLimits) -> Self {
        let evictions = metrics::counter!(CACHE_EVICTIONS);
        Self {
            links: Cache::builder()
                .max_capacity(limits.links)
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
        }
    }

    pub(super) async fn link(&self, code: &ShortCode) -> Option<Held> {
        self.links.get(code).await
    }

    pub(super) async fn is_unknown(&self, code: &ShortCode) -> bool {
        self.unknown.get(code).await.is_some()
    }

    /// Remembers what `fetch` finds; callers for one code share one fetch. `None` when it was overtaken by
    /// a change: then nobody who shared it may use it, whenever they joined.
    pub(super) async fn fetch<E>(
        &self,
        code: &ShortCode,
        fetch: impl Future<Output = Result<Option<CachedLink>, E>>,
        is_current: impl Fn() -> bool,
    ) -> Result<Option<Option<Arc<CachedLink>>>, E>
    where
        E: Clone + Send + Sync + 'static,
    {
        let link = async {
            let since = Instant::now();
            match fetch.await {
                Ok(_) if !is_current() => Err(NoLink::Overtaken),
                Ok(Some(link)) => {
                    let link = Arc::new(link);
                    Ok(Held { link, since })
                }
                Ok(None) => Err(NoLink::Unknown),
                Err(error) => Err(NoLink::Failed(error)),
            }
        };
        match self.links.try_get_with_by_ref(code, link).await {
            Ok(held) => Ok(Some(Some(held.link))),
            Err(no_link) => match &*no_link {
                NoLink::Unknown => {
                    self.unknown.insert(code.clone(), ()).await;
                    Ok(Some(None))
                }
                NoLink::Overtaken => Ok(None),
                NoLink::Failed(error) => Err(error.clone()),
            },
        }
    }

    pub(super) async fn forget(&self, code: &ShortCode) {
        self.links.invalidate(code).await;
        self.unknown.invalidate(code).await;
    }

    pub(super) fn forget_all(&self) {
        self.links.invalidate_all();
        self.unknown.invalidate_all();
    }

    pub(super) fn links_held(&self) -> u64 {
        self.links.entry_count()
    }
}
