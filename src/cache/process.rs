//! What this process remembers: links, and codes known to be unknown, each in a bounded space.

use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use moka::Expiry;
use moka::future::Cache;
use moka::notification::RemovalCause;

use super::{CacheLimits, CachedLink};
use crate::domain::ShortCode;
use crate::telemetry::metrics::CACHE_EVICTIONS;

#[derive(Clone)]
pub(super) struct ProcessCache {
    links: Cache<ShortCode, Arc<CachedLink>, RandomState>,
    unknown: Cache<ShortCode, (), RandomState>,
}

/// A lookup's end other than a link; moka does not remember those.
#[derive(Clone)]
enum NoLink<E> {
    Unknown,
    /// Some link changed while it was looked up: perhaps this one.
    Overtaken,
    Failed(E),
}

/// How long each link is held: between half of the time and all of it. Links that came together, after a start,
/// must not all be looked up again together.
struct Lifetimes {
    longest: Duration,
    hasher: RandomState,
}

impl Lifetimes {
    fn up_to(longest: Duration) -> Self {
        Self {
            longest,
            hasher: RandomState::default(),
        }
    }

    fn of(&self, code: impl Hash) -> Duration {
        let thousandths = u32::try_from(self.hasher.hash_one(code) % 1_000)
            .expect("a number below a thousand is one");
        self.longest / 2 + self.longest / 2 * thousandths / 1_000
    }
}

impl<L> Expiry<ShortCode, L> for Lifetimes {
    fn expire_after_create(&self, code: &ShortCode, _: &L, _: Instant) -> Option<Duration> {
        Some(self.of(code))
    }
}

impl ProcessCache {
    pub(super) fn new(limits: CacheLimits) -> Self {
        let evictions = metrics::counter!(CACHE_EVICTIONS);
        Self {
            links: Cache::builder()
                .max_capacity(limits.links)
                .expire_after(Lifetimes::up_to(limits.process_ttl()))
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

    pub(super) async fn link(&self, code: &ShortCode) -> Option<Arc<CachedLink>> {
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
            match fetch.await {
                Ok(_) if !is_current() => Err(NoLink::Overtaken),
                Ok(Some(link)) => Ok(Arc::new(link)),
                Ok(None) => Err(NoLink::Unknown),
                Err(error) => Err(NoLink::Failed(error)),
            }
        };
        match self.links.try_get_with_by_ref(code, link).await {
            Ok(link) => Ok(Some(Some(link))),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_came_together_leave_one_after_the_other_and_in_time() {
        let lifetimes = Lifetimes::up_to(Duration::from_mins(1));
        let mut leaving = [0; 60];
        for number in 0..30_000 {
            let lifetime = lifetimes.of(number);
            assert!(lifetime <= Duration::from_mins(1));
            leaving[usize::try_from(lifetime.as_secs()).unwrap().min(59)] += 1;
        }
        assert!(leaving[..30].iter().all(|leaving| *leaving == 0));
        assert!(
            leaving[30..]
                .iter()
                .all(|leaving| (800..1_200).contains(leaving))
        );
    }
}
