//! Announcing changes: after it no instance serves a link as it was before.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{sleep, timeout};

use super::{LinkService, publishes};
use crate::domain::{Shard, ShortCode};
use crate::store::Change;

/// How long an announcement waits for Redis, and with it for every instance.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The pause between two attempts.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// Changes of one shard that are published in one call.
const MAX_AT_ONCE: usize = 500;

impl LinkService {
    /// Publishes a change that the database has already, and takes it out of the outbox by its own number. Waits a
    /// second at most; a change that is not published by then stays in the outbox, for the job that empties it. An
    /// instance without Redis leaves it there, too, for those that have one.
    pub(super) async fn announce(&self, change: &Change) {
        self.announce_all(std::slice::from_ref(change)).await;
    }

    /// The same for many changes, in few calls.
    pub(super) async fn announce_all(&self, changes: &[Change]) {
        let mut of_shards = HashMap::<_, Vec<_>>::new();
        for change in changes {
            // A row whose code is malformed is cached nowhere.
            if let Some(code) = &change.code {
                let shard = self.cache.shard_of(code);
                let of_shard = of_shards.entry(shard).or_default();
                of_shard.push((change.number, code.clone()));
            }
        }
        let parts = of_shards.iter().flat_map(|(shard, changes)| {
            let parts = changes.chunks(MAX_AT_ONCE);
            parts.map(|part| self.announce_part(*shard, part))
        });
        join_all(parts).await;
    }

    async fn announce_part(&self, shard: Shard, changes: &[(i64, ShortCode)]) {
        let (numbers, codes): (Vec<_>, Vec<_>) = changes.iter().cloned().unzip();
        let Ok(term) = timeout(TIMEOUT, self.publish(shard, &codes)).await else {
            tracing::warn!(
                "a change of a link is announced to other instances later: Redis did not confirm it in time"
            );
            return;
        };
        if publishes(&*self.outbox, &self.cache)
            && let Err(error) = self.outbox.changes_published(&numbers, term).await
        {
            tracing::warn!(%error, "a published change stays in the outbox for now");
        }
    }

    /// Repeats the invalidation until Redis has it; returns the term of Redis.
    async fn publish(&self, shard: Shard, codes: &[ShortCode]) -> Option<i64> {
        loop {
            match self.cache.invalidate(shard, codes).await {
                Ok(term) => return term,
                Err(_) => sleep(RETRY_PAUSE).await,
            }
        }
    }
}
