//! Which changes of links this process has taken in.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Instant;

use tokio::sync::Mutex;

use super::l2::L2;
use super::redis_tier::RedisTier;
use crate::domain::Shard;
use crate::telemetry::metrics::REDIS_EMPTIED;

/// Where the changes stood in Redis at some moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidationCursor {
    /// In which data set.
    pub shard: Shard,
    /// Of that data set: a new one means that Redis was emptied, or came back older than it was.
    pub epoch: String,
    /// Number of the newest change. A new epoch begins above every number of those before it.
    pub change: i64,
    /// When this was asked: all changes of before are in it.
    pub asked: Instant,
}

/// The version of the cache that a look-up began with: what it finds may be used for as long as no change is taken in.
pub(super) struct LookupVersion<'a> {
    pub(super) version: u64,
    newest: &'a AtomicU64,
}

impl<'a> LookupVersion<'a> {
    pub(super) fn now(newest: &'a AtomicU64) -> Self {
        Self {
            version: newest.load(Ordering::Acquire),
            newest,
        }
    }

    pub(super) fn is_current(&self) -> bool {
        self.newest.load(Ordering::Acquire) == self.version
    }
}

/// What this process has taken in of one shard.
#[derive(Default)]
pub(super) struct Invalidations {
    /// Of all shards. Raised before and after anything is forgotten: a reader that saw it in between sees
    /// it move.
    version: Arc<AtomicU64>,
    /// The newest change of Redis that is taken in.
    taken_in: AtomicI64,
    /// The epoch it belongs to. Its lock lets one catch up at a time.
    epoch: Mutex<Epochs>,
}

/// The epoch that is taken in, and what was taken in of the one before it.
#[derive(Default)]
struct Epochs {
    /// Empty before the first.
    now: String,
    before: Option<(String, i64)>,
}

impl Epochs {
    /// Whether this was on its way while others heard of the next epoch. A server that comes back in an old one
    /// is told apart by its number: in another life it begins far above.
    fn has_left(&self, observed: &InvalidationCursor) -> bool {
        self.before
            .as_ref()
            .is_some_and(|(epoch, change)| *epoch == observed.epoch && observed.change <= *change)
    }
}

impl Invalidations {
    pub(super) fn new(version: &Arc<AtomicU64>) -> Self {
        Self {
            version: Arc::clone(version),
            ..Self::default()
        }
    }

    pub(super) fn is_current(&self, observed: &InvalidationCursor) -> bool {
        self.taken_in.load(Ordering::Acquire) == observed.change
    }

    /// Runs `forgetting` so that everybody who looked something up meanwhile notices.
    pub(super) async fn take_in(&self, process: &L2, forgetting: impl Future<Output = ()>) {
        let _changing = process.changing().await;
        self.version.fetch_add(1, Ordering::AcqRel);
        forgetting.await;
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    /// Forgets what changed up to `observed`; everything, where that cannot be told.
    pub(super) async fn catch_up(
        &self,
        observed: &InvalidationCursor,
        remote: &RedisTier,
        process: &L2,
    ) {
        let mut epochs = self.epoch.lock().await;
        let known = self.taken_in.load(Ordering::Acquire);
        let is_same = epochs.now == observed.epoch;
        // A batch that was under way while others caught up brings an old number.
        if (is_same && known >= observed.change) || epochs.has_left(observed) {
            return;
        }
        let codes = if is_same {
            remote.changes(known, observed.change).await
        } else {
            None
        };
        self.take_in(process, async {
            match codes {
                Some(codes) => {
                    for code in &codes {
                        process.forget(code).await;
                    }
                }
                None => process.forget_all(),
            }
        })
        .await;
        if !is_same {
            let left = std::mem::replace(&mut epochs.now, observed.epoch.clone());
            if !left.is_empty() {
                epochs.before = Some((left, known));
                metrics::counter!(REDIS_EMPTIED).increment(1);
                tracing::error!(
                    "Redis was emptied, or came back older than it was: clicks that were pending in it may be lost"
                );
            }
        }
        self.taken_in.store(observed.change, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::cache::{CacheLimits, LinkCache};
    use crate::domain::{Clock, SystemClock};
    use crate::redis::RedisShards;

    fn cache() -> LinkCache {
        // Where nobody listens: what is told apart here is told apart without asking.
        let url = "redis://127.0.0.1:1".to_owned();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let redis = RedisShards::new(&[url], "test", Duration::from_secs(1), &clock).unwrap();
        LinkCache::new(CacheLimits::of_a_test(), Some(&redis))
    }

    fn observed(epoch: &str, change: i64) -> InvalidationCursor {
        InvalidationCursor {
            shard: Shard::ONLY,
            epoch: epoch.to_owned(),
            change,
            asked: Instant::now(),
        }
    }

    /// Whether what is remembered was forgotten because of this.
    async fn is_news(cache: &LinkCache, observed: InvalidationCursor) -> bool {
        let version = cache.version();
        cache.catch_up_to(&observed).await;
        cache.version() != version
    }

    #[tokio::test]
    async fn an_emptied_redis_is_noticed_once_however_late_the_last_word_from_before_comes() {
        let cache = cache();
        assert!(is_news(&cache, observed("first", 10)).await);
        assert!(is_news(&cache, observed("second", 20)).await);
        assert!(!is_news(&cache, observed("first", 10)).await);
        assert!(!is_news(&cache, observed("second", 20)).await);
    }

    #[tokio::test]
    async fn a_redis_that_comes_back_with_what_it_had_before_is_noticed() {
        let cache = cache();
        for (epoch, change) in [("first", 10), ("second", 20), ("first", 1_000_010)] {
            assert!(is_news(&cache, observed(epoch, change)).await);
        }
    }
}
