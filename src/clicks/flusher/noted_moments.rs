//! When this process last noted the moment up to which clicks are written back.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::domain::Shard;

/// How often the moment is noted while nobody follows a link.
const PAUSE_WITHOUT_CLICKS: Duration = Duration::from_secs(5);

/// When this instance last noted a moment of each shard.
#[derive(Default)]
pub(super) struct NotedMoments(Mutex<HashMap<Shard, Instant>>);

impl NotedMoments {
    pub(super) fn is_due(&self, shard: Shard) -> bool {
        let noted = self.noted();
        let last = noted.get(&shard);
        last.is_none_or(|last| last.elapsed() >= PAUSE_WITHOUT_CLICKS)
    }

    pub(super) fn note(&self, shard: Shard) {
        self.noted().insert(shard, Instant::now());
    }

    pub(super) fn forget(&self, shard: Shard) {
        self.noted().remove(&shard);
    }

    fn noted(&self) -> MutexGuard<'_, HashMap<Shard, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
