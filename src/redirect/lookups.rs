//! Look-ups in the database: a bounded number at once, each within a deadline.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::error::RedirectError;
use super::replica::ReplicaReads;
use crate::cache::ChangeMark;
use crate::domain::{LinkTarget, ShortCode};
use crate::store::{Store, StoreError};
use crate::telemetry::redirects::LookupMetrics;
use crate::telemetry::throttle::LogThrottle;

/// Looks up links in the database; cheap to clone.
#[derive(Clone)]
pub struct Lookups {
    /// The source of truth.
    pub store: Store,
    /// A replica of the database, if there is a replica.
    pub replica: Option<Arc<ReplicaReads>>,
    /// A permit for each look-up that may run at once, in the whole process.
    pub at_once: Arc<Semaphore>,
    /// How long one may take, the wait for its permit included.
    pub deadline: Duration,
    /// The runtime on which database calls run.
    pub runtime: Handle,
    /// Counts look-ups by the server that they were sent to.
    pub metrics: LookupMetrics,
    /// Limits the log lines of failed look-ups.
    pub log: Arc<LogThrottle>,
}

impl Lookups {
    /// Reads the link of a code, with all changes that were published up to `mark`.
    pub(super) async fn read(
        &self,
        code: &ShortCode,
        mark: Option<ChangeMark>,
    ) -> Result<Option<LinkTarget>, RedirectError> {
        let read = async {
            let Ok(permit) = Arc::clone(&self.at_once).acquire_owned().await else {
                return Err(RedirectError::Unavailable("the service is stopping".into()));
            };
            let (lookups, code) = (self.clone(), code.clone());
            let asking = async move {
                // Kept while the database works, even if no request still waits for it.
                let _permit = permit;
                lookups.ask(&code, mark).await
            };
            // On the database's own runtime: the worker's runtime is for redirects.
            match self.runtime.spawn(asking).await {
                Ok(link) => link.map_err(RedirectError::from),
                Err(failed) => Err(RedirectError::Unavailable(failed.to_string())),
            }
        };
        let link = timeout(self.deadline, read).await.unwrap_or_else(|_| {
            Err(RedirectError::Unavailable(
                "the database did not answer in time".into(),
            ))
        });
        link.inspect_err(|error| {
            if self.log.is_due() {
                tracing::warn!(%error, "redirects are answered 503; this is said once a second");
            }
        })
    }

    async fn ask(
        &self,
        code: &ShortCode,
        mark: Option<ChangeMark>,
    ) -> Result<Option<LinkTarget>, StoreError> {
        let replica = self.replica.as_ref().filter(|replica| replica.is_up());
        let (Some(replica), Some(mark)) = (replica, mark) else {
            self.metrics.primary.increment(1);
            return self.store.link_target(code).await;
        };
        if let Some(link) = replica.link(code, &mark).await {
            self.metrics.replica.increment(1);
            return Ok(Some(link));
        }
        self.metrics.primary.increment(1);
        replica.link_on_primary(code, mark).await
    }
}
