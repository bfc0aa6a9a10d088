//! What only the operator does, on the command line, on the database itself. Running instances learn of it from the outbox.

use tokio::time::{sleep, timeout};

use super::work::{AT_ONCE, PAUSE};
use super::{Abuse, AbuseError};
use crate::domain::RemovalId;
use crate::store::StoreError;

impl Abuse {
    /// Scans the links of a removal, or of a revoked removal, and waits until running instances have learned of the changes:
    /// [`AT_ONCE`] at most. They do the rest, even if the database fails: the removal itself is committed.
    pub async fn finish(&self, id: RemovalId) {
        let finished = async {
            while self.work_on(id).await?.is_some() {}
            self.published().await
        };
        if let Ok(Err(error)) = timeout(AT_ONCE, finished).await {
            tracing::warn!(%error, "the removal is saved, but not all its links are done yet; running instances finish it");
        }
    }

    /// Waits until running instances have learned of a change of hosts: [`AT_ONCE`] at most. They learn of it later, too.
    pub async fn finish_domains(&self) {
        if let Ok(Err(error)) = timeout(AT_ONCE, self.published()).await {
            tracing::warn!(%error, "the change is saved, but running instances may not know it yet");
        }
    }

    async fn published(&self) -> Result<(), StoreError> {
        while self.store.has_others() && !self.store.unpublished_changes(0, 1).await?.is_empty() {
            sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Leaves the database in order.
    ///
    /// # Errors
    /// [`AbuseError::Store`].
    pub async fn close(self) -> Result<(), AbuseError> {
        Ok(self.store.close().await?)
    }
}
