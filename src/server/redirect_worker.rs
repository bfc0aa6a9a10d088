//! The redirect path of one worker, and the tasks that have to run for it.

use std::sync::Arc;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::cache::LookupBatcher;
use crate::clicks::{Deliveries, Recorder};
use crate::redirect::Redirect;

/// A redirect path with a recorder of its own, and the tasks that serve it.
pub(super) struct RedirectWorker {
    pub(super) redirect: Redirect,
    pub(super) tasks: RedirectTasks,
}

/// The tasks of one redirect path.
pub(super) struct RedirectTasks {
    pub(super) deliveries: Deliveries,
    pub(super) recorder: Arc<Recorder>,
    pub(super) lookup_batchers: Vec<LookupBatcher>,
}

impl RedirectTasks {
    /// Spawns the tasks on the runtime of the redirect path. The returned one delivers clicks; it ends after `drained`
    /// is cancelled, once every click is delivered.
    pub(super) fn spawn(self, drained: CancellationToken) -> JoinHandle<()> {
        for batcher in self.lookup_batchers {
            // Ends with the redirect path. Should it die, look-ups go to the database one by one.
            tokio::spawn(batcher.run());
        }
        tokio::spawn(async move {
            self.recorder
                .run(self.deliveries, drained.cancelled_owned())
                .await;
        })
    }
}
