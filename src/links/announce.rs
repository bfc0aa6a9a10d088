//! Announcing changes: after it no instance serves a link as it was before.

use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use super::LinkService;
use super::outbox::{OutboxError, READ_AT_ONCE, publish};
use crate::store::{Change, committed};

/// How long an announcement waits for Redis, and with it for every instance.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The same while Redis is away for this instance: long enough for another instance that reaches it to publish the change.
const TIMEOUT_WITHOUT_REDIS: Duration = Duration::from_secs(2);

/// How long the database may take to say whether another instance has published a change.
const QUESTION_TIMEOUT: Duration = Duration::from_millis(500);

/// The pause between two attempts.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

impl LinkService {
    /// Publishes changes that the database has already, and takes them out of the outbox by their own numbers. Waits for 5 s at
    /// most, for 2 s while Redis is away; a change that is not published by then stays in the outbox, for the job that empties
    /// it. An instance without Redis leaves them there, too, for those that have one.
    pub async fn announce_all(&self, changes: &[Change]) {
        committed();
        let started = Instant::now();
        let publishing = async {
            for changes in changes.chunks(READ_AT_ONCE as usize) {
                if !self.publish(changes, started).await {
                    return false;
                }
            }
            true
        };
        if !timeout(TIMEOUT, publishing).await.unwrap_or_default() {
            tracing::warn!(
                "a change of a link is announced to other instances later: Redis did not confirm it in time"
            );
        }
    }

    /// Repeats the invalidation until the Redis of all instances has it. Returns whether that is so.
    async fn publish(&self, changes: &[Change], started: Instant) -> bool {
        loop {
            match publish(&self.store, &self.cache, &|_| true, changes.to_vec()).await {
                Ok(()) => return true,
                Err(OutboxError::Cache(_) | OutboxError::Superseded) => {}
                Err(OutboxError::Store(error)) => {
                    tracing::warn!(%error, "a published change stays in the outbox for now");
                    return true;
                }
            }
            // An instance that reaches the newest Redis publishes the change meanwhile.
            let published = timeout(QUESTION_TIMEOUT, self.are_published(changes)).await;
            if published.unwrap_or_default() {
                return true;
            }
            let waited = started.elapsed().min(self.cache.redis_away_for());
            if waited >= TIMEOUT_WITHOUT_REDIS {
                return false;
            }
            sleep(RETRY_PAUSE).await;
        }
    }

    /// Whether the outbox no longer has any of these changes. A database that does not say so is asked again.
    async fn are_published(&self, changes: &[Change]) -> bool {
        let Some(first) = changes.iter().map(|change| change.number).min() else {
            return true;
        };
        let left = self.store.unpublished_changes(first - 1, READ_AT_ONCE);
        left.await.is_ok_and(|left| {
            let is_left = |change: &Change| left.iter().any(|other| other.number == change.number);
            left.len() < READ_AT_ONCE as usize && !changes.iter().any(is_left)
        })
    }
}
