//! Notes whether the work on a request has committed a change: if it has, its response says so, however long the rest takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

tokio::task_local! {
    static COMMITS: Commits;
}

/// Whether the work on one request has committed a change; cheap to clone.
#[derive(Clone, Default)]
pub struct Commits(Arc<AtomicBool>);

impl Commits {
    /// Does the work on a request, whose commits are noted here.
    pub async fn of<T>(&self, work: impl Future<Output = T>) -> T {
        COMMITS.scope(self.clone(), work).await
    }

    /// Whether a change is committed.
    #[must_use]
    pub fn has_any(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Notes that a change is committed after which the work on the request goes on: it is not given up any more, and the rest of
/// it has deadlines of its own. Without a request nothing happens.
pub fn committed() {
    // A job works on no request.
    let _ = COMMITS.try_with(|commits| commits.0.store(true, Ordering::Release));
}
