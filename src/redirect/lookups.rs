//! Look-ups in the database: only so many at once, and none waits for ever.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::error::RedirectError;
use super::replica::ReplicaReads;
use crate::cache::ChangeMark;
use crate::domain::{LinkTarget, ShortCode};
use crate::store::{Links, StoreError};
use crate::telemetry::redirects::LookupMetrics;
use crate::telemetry::throttle::LogThrottle;

/// What the road asks the database with; cheap to clone.
#[derive(Clone)]
pub struct Lookups {
    /// The source of truth.
    pub links: Arc<dyn Links>,
    /// A replica of it, if there is one.
    pub replica: Option<Arc<ReplicaReads>>,
    /// How many may run at once, in the whole process.
    pub at_once: Arc<Semaphore>,
    /// How long one may take, waiting for its turn included.
    pub deadline: Duration,
    /// The runtime on which database calls run.
    pub runtime: Handle,
    /// Who answered.
    pub metrics: LookupMetrics,
    /// That look-ups fail.
    pub log: Arc<LogThrottle>,
}

impl Lookups {
    /// What is known of a code, all changes included that were `told` before.
    pub(super) async fn read(
        &self,
        code: &ShortCode,
        told: Option<ChangeMark>,
    ) -> Result<Option<LinkTarget>, RedirectError> {
        let read = async {
            let Ok(turn) = Arc::clone(&self.at_once).acquire_owned().await else {
                return Err(RedirectError::Unavailable("the service is stopping".into()));
            };
            let (lookups, code) = (self.clone(), code.clone());
            let asking = async move {
                // For as long as the database is at it, whether or not anybody still waits.
                let _turn = turn;
                lookups.ask(&code, told).await
            };
            // On the database's own runtime: this one belongs to the redirects.
            match self.runtime.spawn(asking).await {
                Ok(found) => found.map_err(RedirectError::from),
                Err(failed) => Err(RedirectError::Unavailable(failed.to_string())),
            }
        };
        let found = timeout(self.deadline, read).await.unwrap_or_else(|_| {
            Err(RedirectError::Unavailable(
                "the database did not answer in time".into(),
            ))
        });
        found.inspect_err(|error| {
            if self.log.is_due() {
                tracing::warn!(%error, "redirects are answered 503; this is said once a second");
            }
        })
    }

    async fn ask(
        &self,
        code: &ShortCode,
        told: Option<ChangeMark>,
    ) -> Result<Option<LinkTarget>, StoreError> {
        let replica = self.replica.as_ref().filter(|replica| replica.is_up());
        let (Some(replica), Some(told)) = (replica, told) else {
            self.metrics.primary.increment(1);
            return self.links.link_target(code).await;
        };
        if let Some(link) = replica.link(code, &told).await {
            self.metrics.replica.increment(1);
            return Ok(Some(link));
        }
        self.metrics.primary.increment(1);
        replica.link_on_primary(code, told).await
    }
}
