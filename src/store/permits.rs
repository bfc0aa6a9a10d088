//! Which operation gets the next connection to the database.

use std::sync::atomic::{AtomicUsize, Ordering};

use metrics::Counter;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::queue_delay::{QueueStands, wait};
use crate::telemetry::metrics::{Connections, LIMIT_HITS};

/// Permits for operations for which no redirect waits, as many as the pool has connections. However many of these
/// operations wait, only so many ask the pool, and the next free connection goes to a redirect.
pub(super) struct Permits {
    permits: Semaphore,
    waiting: AtomicUsize,
    /// Counts the operations that waited too long.
    refused: Counter,
}

/// Counts a waiting operation, also one that gives up.
struct Waiting<'a>(&'a AtomicUsize);

impl Permits {
    /// For a pool with so many connections.
    pub(super) fn new(connections: usize) -> Self {
        Self {
            permits: Semaphore::new(connections),
            waiting: AtomicUsize::new(0),
            refused: metrics::counter!(LIMIT_HITS, "limit" => "database_queue"),
        }
    }

    /// A permit to ask the pool, until it is dropped.
    ///
    /// # Errors
    /// [`QueueStands`], where a client waits for the operation.
    pub(super) async fn acquire(&self) -> Result<SemaphorePermit<'_>, QueueStands> {
        let _waiting = Waiting::start(&self.waiting);
        // The semaphore is first in, first out.
        let permit = wait(self.permits.acquire()).await;
        let permit = permit.inspect_err(|_| self.refused.increment(1))?;
        Ok(permit.expect("the semaphore is never closed"))
    }

    /// The connections of the pool, and the operations that wait for one, with or without a permit.
    pub(super) fn connections(&self, pool: &deadpool::Status) -> Connections {
        let mut connections = Connections::of(pool);
        let here = u32::try_from(self.waiting.load(Ordering::Relaxed)).unwrap_or(u32::MAX);
        connections.waiting = connections.waiting.saturating_add(here);
        connections
    }
}

impl<'a> Waiting<'a> {
    fn start(waiting: &'a AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_waiting_operation_is_counted_until_it_has_a_permit_or_gives_up() {
        let permits = Permits::new(1);
        let pool = deadpool::Status {
            max_size: 1,
            size: 0,
            available: 0,
            waiting: 0,
        };
        let waiting = || permits.connections(&pool).waiting;
        let first = permits.acquire().await.unwrap();
        let (mut second, mut third) = (Box::pin(permits.acquire()), Box::pin(permits.acquire()));
        assert!((&mut second).now_or_never().is_none() && (&mut third).now_or_never().is_none());
        assert_eq!(waiting(), 2);
        drop(third);
        assert_eq!(waiting(), 1);
        drop(first);
        let _second = second.await.unwrap();
        assert_eq!(waiting(), 0);
    }
}
