//! Limits concurrent flushes: from each server the first piece of a single flush is read at a time, and a few flushes are written
//! to the database at once. The rest has not begun, so that another instance may flush it.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::shared_redis::RedisShard;

/// Flushes of different shards that are written at the same time. Each has a connection of the database while it writes a
/// part, and redirects need some of them and of its time, too.
const WRITERS: usize = 2;

/// Flushes that are under way at the same time, each with a piece in memory: one more is read meanwhile, or waits.
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

/// The places of flushes under way, and the permits to write.
pub(super) struct Writers {
    places: Semaphore,
    permits: Semaphore,
}

impl Writers {
    pub(super) fn new() -> Self {
        Self {
            places: Semaphore::new(UNDER_WAY),
            permits: Semaphore::new(WRITERS),
        }
    }

    /// Waits for a place. A flush needs one before it takes the lease on its shard.
    pub(super) async fn place(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed.
        self.places.acquire().await.ok()
    }

    /// Waits for a permit to write one flush to the database.
    pub(super) async fn permit(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed.
        self.permits.acquire().await.ok()
    }
}
