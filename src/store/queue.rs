//! Who gets the next connection to the database.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::telemetry::metrics::Connections;

/// Where all for whom no visitor waits stand before a pool, which has as many connections as there are places:
/// however many they are, the next connection that is free is for a visitor.
pub(super) struct Queue {
    places: Semaphore,
    waiting: AtomicUsize,
}

/// Counts for as long as somebody waits, also one who gives up.
struct Waiting<'a>(&'a AtomicUsize);

impl Queue {
    /// Before a pool of so many connections.
    pub(super) fn new(connections: usize) -> Self {
        Self {
            places: Semaphore::new(connections),
            waiting: AtomicUsize::new(0),
        }
    }

    /// One's turn to ask the pool, until it is dropped.
    pub(super) async fn turn(&self) -> SemaphorePermit<'_> {
        let _waiting = Waiting::begin(&self.waiting);
        let place = self.places.acquire().await;
        place.expect("it is never closed")
    }

    /// The connections of the pool, and who waits for one, here or there.
    pub(super) fn before(&self, pool: &deadpool::Status) -> Connections {
        let mut connections = Connections::of(pool);
        let here = u32::try_from(self.waiting.load(Ordering::Relaxed)).unwrap_or(u32::MAX);
        connections.waiting = connections.waiting.saturating_add(here);
        connections
    }
}

impl<'a> Waiting<'a> {
    fn begin(waiting: &'a AtomicUsize) -> Self {
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
    async fn who_waits_is_counted_until_it_is_their_turn_or_they_give_up() {
        let queue = Queue::new(1);
        let pool = deadpool::Status {
            max_size: 1,
            size: 0,
            available: 0,
            waiting: 0,
        };
        let waiting = || queue.before(&pool).waiting;
        let first = queue.turn().await;
        let (mut second, mut third) = (Box::pin(queue.turn()), Box::pin(queue.turn()));
        assert!((&mut second).now_or_never().is_none() && (&mut third).now_or_never().is_none());
        assert_eq!(waiting(), 2);
        drop(third);
        assert_eq!(waiting(), 1);
        drop(first);
        let _second = second.await;
        assert_eq!(waiting(), 0);
    }
}
