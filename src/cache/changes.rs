//! Which changes of links this process has taken in.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Instant;

use tokio::sync::Mutex;

use super::process::ProcessCache;
use super::remote::Remote;
use crate::domain::Shard;
use crate::telemetry::metrics::REDIS_EMPTIED;

/// Where the changes stood in Redis at some moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// In which data set.
    pub shard: Shard,
    /// Life of the Redis data set: a new one means that Redis was emptied, or came back older than it was.
    pub epoch: String,
    /// Number of the newest change. A new epoch begins above every number of those before it.
    pub change: i64,
    /// When this was asked: all changes of before are in it.
    pub asked: Instant,
}

/// What this process has taken in of one shard.
#[derive(Default)]
pub(super) struct Changes {
    /// Of all shards. Raised before and after anything is forgotten: a reader that saw it in between sees
    /// it move.
    version: Arc<AtomicU64>,
    /// The newest change of Redis that is taken in.
    taken_in: AtomicI64,
    /// The epoch it belongs to, empty before the first. Its lock lets one catch up at a time.
    epoch: Mutex<String>,
}

impl Changes {
    pub(super) fn new(version: &Arc<AtomicU64>) -> Self {
        Self {
            version: Arc::clone(version),
            ..Self::default()
        }
    }

    pub(super) fn is_current(&self, observed: &Observed) -> bool {
        self.taken_in.load(Ordering::Acquire) == observed.change
    }

    /// Runs `forgetting` so that everybody who looked something up meanwhile notices.
    pub(super) async fn taken_in(
        &self,
        process: &ProcessCache,
        forgetting: impl Future<Output = ()>,
    ) {
        let _changing = process.changing().await;
        self.version.fetch_add(1, Ordering::AcqRel);
        forgetting.await;
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    /// Forgets what changed up to `observed`; everything, where that cannot be told.
    pub(super) async fn catch_up(
        &self,
        observed: &Observed,
        remote: &Remote,
        process: &ProcessCache,
    ) {
        let mut epoch = self.epoch.lock().await;
        let known = self.taken_in.load(Ordering::Acquire);
        // A batch that was under way while others caught up brings an old number.
        if known >= observed.change && *epoch == observed.epoch {
            return;
        }
        let first = epoch.is_empty();
        let codes = if *epoch == observed.epoch {
            remote.changes(known, observed.change).await
        } else {
            None
        };
        self.taken_in(process, async {
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
        if !first && *epoch != observed.epoch {
            metrics::counter!(REDIS_EMPTIED).increment(1);
            tracing::error!(
                "Redis lost what it had, or part of it: clicks that were pending in it are lost"
            );
        }
        epoch.clone_from(&observed.epoch);
        self.taken_in.store(observed.change, Ordering::Release);
    }
}
