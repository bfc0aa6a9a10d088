//! Announcing changes: after it no instance serves a link as it was before.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::LinkService;
use super::outbox::{OutboxError, READ_AT_ONCE, publish};
use crate::store::{Change, committed};

/// How long an announcement waits for Redis, and with it for every instance.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The pause between two attempts.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

impl LinkService {
    /// Publishes a change that the database has already, as [`LinkService::announce_all`] does.
    pub(super) async fn announce(&self, change: &Change) {
        self.announce_all(std::slice::from_ref(change)).await;
    }

    /// Publishes changes that the database has already, and takes them out of the outbox by their own numbers. Waits a
    /// second at most; a change that is not published by then stays in the outbox, for the job that empties it. An
    /// instance without Redis leaves them there, too, for those that have one.
    pub async fn announce_all(&self, changes: &[Change]) {
        committed();
        let publishing = async {
            for changes in changes.chunks(READ_AT_ONCE as usize) {
                self.publish(changes).await;
            }
        };
        if timeout(TIMEOUT, publishing).await.is_err() {
            tracing::warn!(
                "a change of a link is announced to other instances later: Redis did not confirm it in time"
            );
        }
    }

    /// Repeats the invalidation until the Redis of all instances has it.
    async fn publish(&self, changes: &[Change]) {
        loop {
            let changes = changes.to_vec();
            match publish(&*self.outbox, &self.cache, &|_| true, changes).await {
                Ok(()) => return,
                // An instance that uses the newest Redis publishes the change meanwhile.
                Err(OutboxError::Cache(_) | OutboxError::Superseded) => sleep(RETRY_PAUSE).await,
                Err(OutboxError::Store(error)) => {
                    tracing::warn!(%error, "a published change stays in the outbox for now");
                    return;
                }
            }
        }
    }
}
