//! Announcing a change: after it no instance serves the link as it was before.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::LinkService;
use crate::store::Change;

/// How long an announcement waits for Redis, and with it for every instance.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The pause between two attempts.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

impl LinkService {
    /// Publishes a change that the database has already, and takes it out of the outbox by its own number. Waits a
    /// second at most; a change that is not published by then stays in the outbox, for the job that empties it.
    pub(super) async fn announce(&self, change: &Change) {
        let Ok(term) = timeout(TIMEOUT, self.publish(change)).await else {
            tracing::warn!(
                "a change of a link is announced to other instances later: Redis did not confirm it in time"
            );
            return;
        };
        let numbers = [change.number];
        if let Err(error) = self.outbox.changes_published(&numbers, term).await {
            tracing::warn!(%error, "a published change stays in the outbox for now");
        }
    }

    /// Repeats the invalidation until Redis has it; returns the term of Redis.
    async fn publish(&self, change: &Change) -> Option<i64> {
        // A row whose code is malformed is cached nowhere.
        let code = change.code.as_ref()?;
        let (shard, codes) = (self.cache.shard_of(code), std::slice::from_ref(code));
        loop {
            match self.cache.invalidate(shard, codes).await {
                Ok(term) => return term,
                Err(_) => sleep(RETRY_PAUSE).await,
            }
        }
    }
}
