//! Warns while acknowledged clicks are only in memory.

use std::sync::Arc;
use std::time::Duration;

use super::runner::every;
use crate::clicks::MemoryOnly;

const PAUSE: Duration = Duration::from_secs(1);

/// Acknowledged clicks that would be lost with this process.
#[derive(Debug, thiserror::Error)]
#[error("{0} answered clicks are in memory alone")]
struct InMemoryAlone(u64);

pub(super) async fn run(memory_only: Arc<MemoryOnly>) {
    every(PAUSE, "delivering clicks", || async {
        match memory_only.clicks() {
            0 => Ok(()),
            clicks => Err(InMemoryAlone(clicks)),
        }
    })
    .await;
}
