//! Limits concurrent flushes: from each server a single flush is read at a time, and a few flushes are written to the
//! database at once. The rest has not begun, so that another instance may flush it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::shared_redis::RedisShard;

/// Flushes of different shards that are written at the same time. Each has a connection of the database while it writes a
/// part, and redirects need some of them and of its time, too.
const WRITERS: usize = 2;

/// Flushes that are under way at the same time: one more is read meanwhile, or waits in memory.
const UNDER_WAY: usize = WRITERS + 1;

/// The turns to read, by the replication ID of the server: a slow server delays its own shards alone.
pub(super) struct Readers(HashMap<Arc<str>, tokio::sync::Mutex<()>>);

impl Readers {
    /// A turn for each server that has one of these shards.
    pub(super) fn of(shards: &[&RedisShard]) -> Self {
        let servers = shards.iter().map(|redis| redis.replication_id());
        Self(
            servers
                .map(|server| (server, tokio::sync::Mutex::default()))
                .collect(),
        )
    }

    /// Waits for the turn of a server; `None` where a shard has moved to one that is not known, which has no turns.
    pub(super) async fn turn(&self, redis: &RedisShard) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        Some(self.0.get(&redis.replication_id())?.lock().await)
    }
}

/// The places of flushes under way, the permits to write, and how long at least one of these was in use.
pub(super) struct Writers {
    places: Semaphore,
    permits: Semaphore,
    use_of_permits: Mutex<Use>,
}

#[derive(Default)]
struct Use {
    writers: usize,
    since: Option<Instant>,
    before: Duration,
}

/// A permit to write one flush to the database.
pub(super) struct Writer<'a> {
    writers: &'a Writers,
    _permit: Option<SemaphorePermit<'a>>,
}

impl Writers {
    pub(super) fn new() -> Self {
        Self {
            places: Semaphore::new(UNDER_WAY),
            permits: Semaphore::new(WRITERS),
            use_of_permits: Mutex::default(),
        }
    }

    /// Waits for a place. A flush needs one before it takes the lease on its shard.
    pub(super) async fn place(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed.
        self.places.acquire().await.ok()
    }

    /// Waits for a permit.
    pub(super) async fn permit(&self) -> Writer<'_> {
        // It is never closed.
        let permit = self.permits.acquire().await.ok();
        let mut noted = self.noted();
        noted.writers += 1;
        noted.since.get_or_insert_with(Instant::now);
        Writer {
            writers: self,
            _permit: permit,
        }
    }

    /// How long at least one flush was being written, since the start of the process: not the sum over shards.
    pub(super) fn busy(&self) -> Duration {
        let noted = self.noted();
        let now = noted.since.map(|since| since.elapsed());
        noted.before + now.unwrap_or_default()
    }

    fn noted(&self) -> MutexGuard<'_, Use> {
        self.use_of_permits
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        let mut noted = self.writers.noted();
        noted.writers -= 1;
        if noted.writers == 0 {
            let used = noted.since.take().map(|since| since.elapsed());
            noted.before += used.unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_time_of_writers_at_work_side_by_side_counts_once() {
        let writers = Writers::new();
        let (first, second) = tokio::join!(writers.permit(), writers.permit());
        let started = writers.noted().since.unwrap();
        drop(first);
        assert_eq!(writers.noted().before, Duration::ZERO);
        drop(second);
        let busy = writers.busy();
        assert!(busy <= started.elapsed());
        assert_eq!((writers.busy(), writers.noted().since), (busy, None));
    }
}
