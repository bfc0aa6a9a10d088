//! Which changes of links this process has applied: changed links are removed from its cache.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use tokio::sync::Mutex;
use tokio::time::timeout;

use super::cursor::InvalidationCursor;
use super::l2::L2;
use super::redis_tier::{ListDeadline, RedisTier};
use crate::shared_redis::Term;
use crate::telemetry::metrics::{REDIS_DATA_LOST, counter_of_shard};

/// The changes of one shard that this process has applied.
#[derive(Default)]
pub(super) struct Invalidations {
    /// The version of the whole cache. Raised before and after links are removed, so that a look-up that began in between
    /// notices.
    version: Arc<AtomicU64>,
    /// The newest change of Redis that is applied.
    applied: AtomicI64,
    /// The newest change that Redis was too late to list: any link in memory may have changed up to it.
    unlisted: AtomicI64,
    /// The term of the newest applied change. Its lock lets one task catch up at a time.
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

    /// Whether links in memory must be looked up again, because some of them changed and it is unknown which.
    pub(super) fn is_behind(&self) -> bool {
        self.unlisted() > self.applied()
    }

    /// The newest change that Redis was too late to list.
    pub(super) fn unlisted(&self) -> i64 {
        self.unlisted.load(Ordering::Acquire)
    }

    /// The changes that the database listed are applied, after this was read as the newest unlisted change: each change is in the
    /// database before it is announced in Redis.
    pub(super) fn has_read(&self, unlisted: i64) {
        self.applied.fetch_max(unlisted, Ordering::AcqRel);
    }

    /// Runs `removal` so that every look-up under way notices.
    pub(super) async fn apply(&self, l2: &L2, removal: impl Future<Output = ()>) {
        let _no_inserts = l2.block_inserts().await;
        self.version.fetch_add(1, Ordering::AcqRel);
        removal.await;
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    /// Removes the links that changed up to `cursor`, or all links if Redis no longer has all of these changes. Returns whether
    /// they are removed: if Redis is late with its list, links stay in memory, but are looked up before they are followed.
    pub(super) async fn catch_up(
        &self,
        cursor: &InvalidationCursor,
        redis: &RedisTier,
        l2: &L2,
        deadline: ListDeadline,
    ) -> bool {
        let waiting = self.term.lock();
        let waited = match deadline {
            ListDeadline::OfRedirects => timeout(redis.deadline(), waiting).await.ok(),
            ListDeadline::InBackground => Some(waiting.await),
        };
        let Some(mut term) = waited else {
            self.note_unlisted(cursor, l2).await;
            return false;
        };
        let known = self.applied.load(Ordering::Acquire);
        let known_term = term.as_ref().map_or(i64::MIN, |term| term.number);
        let is_same = known_term == cursor.term.number;
        // The reply to a batch may come after the replies to later batches.
        if known_term > cursor.term.number || is_same && known >= cursor.change {
            return true;
        }
        let is_noted = self.unlisted() >= cursor.change;
        if is_same && is_noted && !redis.is_reachable() {
            return false;
        }
        let codes = if is_same {
            redis.changes(known, cursor.change, deadline).await
        } else {
            Ok(None)
        };
        let Ok(codes) = codes else {
            self.note_unlisted(cursor, l2).await;
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
        })
        .await;
        let previous = term.replace(Arc::clone(&cursor.term));
        if previous.is_some_and(|previous| previous.epoch != cursor.term.epoch) {
            counter_of_shard(REDIS_DATA_LOST, cursor.shard).increment(1);
            tracing::error!(
                "Redis lost data or was rolled back: clicks that were pending in it may be lost"
            );
        }
        if is_same {
            self.applied.fetch_max(cursor.change, Ordering::AcqRel);
        } else {
            self.applied.store(cursor.change, Ordering::Release);
        }
        true
    }

    /// Notes that Redis did not list the changes up to `cursor` in time.
    async fn note_unlisted(&self, cursor: &InvalidationCursor, l2: &L2) {
        // Once for each change: every attempt would take the links out of the workers' tables again.
        if self.unlisted.fetch_max(cursor.change, Ordering::AcqRel) < cursor.change {
            self.apply(l2, async { l2.forget_unknown() }).await;
        }
    }
}
