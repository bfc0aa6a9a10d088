//! When this instance last wrote back all clicks of each shard: noted by the flush, read by the measurement.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::domain::Shard;

/// The time of the last complete flush of each shard.
pub(super) struct FlushTimes(Mutex<BTreeMap<Shard, Instant>>);

impl FlushTimes {
    /// Starts with the present for each of these shards.
    pub(super) fn new(shards: impl Iterator<Item = Shard>) -> Self {
        let now = Instant::now();
        Self(Mutex::new(shards.map(|shard| (shard, now)).collect()))
    }

    /// Notes that all clicks that waited in these shards were written back.
    pub(super) fn note(&self, shards: &[Shard]) {
        let now = Instant::now();
        self.times()
            .extend(shards.iter().map(|shard| (*shard, now)));
    }

    /// How long ago that was, for each shard.
    pub(super) fn ages(&self) -> Vec<(Shard, Duration)> {
        let times = self.times();
        times
            .iter()
            .map(|(shard, time)| (*shard, time.elapsed()))
            .collect()
    }

    fn times(&self) -> MutexGuard<'_, BTreeMap<Shard, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
