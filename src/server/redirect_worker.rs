//! The redirect path of a worker, and the tasks that must run for it.

use futures_util::FutureExt;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::cache::LookupBatcher;
use crate::clicks::{Delivery, Recorders};
use crate::domain::Shard;
use crate::redirect::Redirect;

/// A redirect path with recorders of its own, and the tasks that serve it.
pub(super) struct RedirectWorker {
    pub(super) redirect: Redirect,
    pub(super) tasks: RedirectTasks,
}

/// The tasks of one redirect path.
pub(super) struct RedirectTasks {
    /// One per shard, in their order.
    pub(super) deliveries: Vec<Delivery>,
    pub(super) recorders: Recorders,
    pub(super) lookup_batchers: Vec<LookupBatcher>,
}

impl RedirectTasks {
    /// Spawns the tasks on the runtime of the redirect path. The returned task stands for the tasks that deliver clicks: it
    /// ends after `drained` is cancelled, once every click is delivered, and panics if one of them does.
    pub(super) fn spawn(self, drained: &CancellationToken) -> JoinHandle<()> {
        for batcher in self.lookup_batchers {
            // Ends with the redirect path. Should it die, look-ups go to the database one by one.
            tokio::spawn(batcher.run().boxed());
        }
        let mut delivering = JoinSet::new();
        for (shard, delivery) in Shard::all(Shard::MAX_COUNT).zip(self.deliveries) {
            let (recorders, drained) = (self.recorders.clone(), drained.clone());
            let recording = async move {
                let recorder = recorders.of(shard);
                recorder.run(delivery, drained.cancelled_owned()).await;
            };
            delivering.spawn(recording.boxed());
        }
        let ending = async move {
            while let Some(ended) = delivering.join_next().await {
                ended.expect("its panic is this task's, too");
            }
        };
        tokio::spawn(ending.boxed())
    }
}
