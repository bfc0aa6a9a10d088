//! Which changes of links this process has applied: changed links are removed from its cache.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use tokio::sync::Mutex;

use super::cursor::InvalidationCursor;
use super::l2::L2;
use super::redis_tier::RedisTier;
use crate::redis::Term;
use crate::telemetry::metrics::{REDIS_DATA_LOST, counter_of_shard};

/// The changes of one shard that this process has applied.
#[derive(Default)]
pub(super) struct Invalidations {
    /// The version of the whole cache. Raised before and after links are removed, so that a look-up that began in between
    /// notices.
    version: Arc<AtomicU64>,
    /// The newest change of Redis that is applied.
    applied: AtomicI64,
    /// Whether there are newer changes that Redis was too late to list: any link in memory may be one of them.
    is_behind: AtomicBool,
    /// The term of that change. Its lock lets one task catch up at a time.
    term: Mutex<Option<Arc<Term>>>,
}

impl Invalidations {
    pub(super) fn new(version: &Arc<AtomicU64>) -> Self {
        Self {
            version: Arc::clone(version),
            ..Self::default()
        }
    }

    /// The newest change of Redis that is applied. The version of the cache, read afterwards, includes it.
    pub(super) fn applied(&self) -> i64 {
        self.applied.load(Ordering::Acquire)
    }

    pub(super) fn is_current(&self, cursor: &InvalidationCursor) -> bool {
        self.applied() == cursor.change
    }

    /// Whether links in memory have to be looked up again, as some of them changed and it is not known which.
    pub(super) fn is_behind(&self) -> bool {
        self.is_behind.load(Ordering::Acquire)
    }

    /// Runs `removal` so that every look-up under way notices.
    pub(super) async fn apply(&self, l2: &L2, removal: impl Future<Output = ()>) {
        let _no_inserts = l2.block_inserts().await;
        self.version.fetch_add(1, Ordering::AcqRel);
        removal.await;
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    /// Removes the links that changed up to `cursor`; all links if Redis has not all of these changes any more. Returns whether
    /// they are removed: if Redis is late with its list, links stay in memory, but are looked up before they are followed.
    pub(super) async fn catch_up(
        &self,
        cursor: &InvalidationCursor,
        redis: &RedisTier,
        l2: &L2,
    ) -> bool {
        let mut term = self.term.lock().await;
        let known = self.applied.load(Ordering::Acquire);
        let known_term = term.as_ref().map_or(i64::MIN, |term| term.number);
        let is_same = known_term == cursor.term.number;
        // The reply to a batch may come after the replies to later ones.
        if known_term > cursor.term.number || is_same && known >= cursor.change {
            return true;
        }
        let codes = if is_same {
            redis.changes(known, cursor.change).await
        } else {
            Ok(None)
        };
        let Ok(codes) = codes else {
            self.is_behind.store(true, Ordering::Release);
            self.apply(l2, async {}).await;
            return false;
        };
        self.apply(l2, async {
            match codes {
                Some(codes) => {
                    for code in &codes {
                        l2.remove(code).await;
                    }
                }
                None => l2.clear(),
            }
            self.is_behind.store(false, Ordering::Release);
        })
        .await;
        let previous = term.replace(Arc::clone(&cursor.term));
        if previous.is_some_and(|previous| previous.epoch != cursor.term.epoch) {
            counter_of_shard(REDIS_DATA_LOST, cursor.shard).increment(1);
            tracing::error!(
                "Redis lost data or was rolled back: clicks that were pending in it may be lost"
            );
        }
        self.applied.store(cursor.change, Ordering::Release);
        true
    }
}
