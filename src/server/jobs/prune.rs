//! Removes the records of recorders that are no longer needed, in the database and in Redis.

use std::sync::Arc;
use std::time::Duration;

use super::runner::every;
use crate::clicks::Flusher;

const PAUSE: Duration = Duration::from_mins(1);

pub(super) async fn run(flusher: Arc<Flusher>) {
    every(PAUSE, "pruning ledgers", || flusher.prune()).await;
}
