//! Which operation gets the next connection to the database.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use metrics::Counter;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout};

use super::adaptive_limit::{AdaptiveLimit, STALL};
use super::queue_delay::{QueueStands, wait};
use crate::telemetry::metrics::{Connections, LIMIT_HITS};

/// Permits for operations for which no redirect waits, at most as many as the pool has connections. However many of these
/// operations wait, only so many ask the pool, and the next free connection goes to a redirect.
pub(super) struct Permits {
    semaphore: Semaphore,
    /// `None`: their number never changes.
    adapted: Option<Mutex<Adapted>>,
    waiting: AtomicUsize,
    /// Counts the operations that waited too long.
    refused: Counter,
}

/// Searches that use a pool of so many connections at once: a quarter of them.
pub(super) fn searches_at_once(connections: usize) -> Semaphore {
    Semaphore::new((connections / 4).max(1))
}

/// How many permits there are to be, and how many there are: free ones, and those in use.
struct Adapted {
    limit: AdaptiveLimit,
    existing: u32,
}

/// The right to ask the pool, until it is dropped.
pub(super) struct Permit<'a> {
    permit: Option<SemaphorePermit<'a>>,
    of: &'a Permits,
}

/// Counts a waiting operation, also one that gives up.
struct WaitingOperation<'a>(&'a AtomicUsize);

impl Permits {
    /// For a pool with so many connections.
    pub(super) fn new(connections: usize) -> Self {
        Self {
            semaphore: Semaphore::new(connections),
            adapted: None,
            waiting: AtomicUsize::new(0),
            refused: metrics::counter!(LIMIT_HITS, "limit" => "database_queue"),
        }
    }

    /// The same; under load as many of them are used at once as the database gets more done by.
    pub(super) fn adaptive(connections: u32) -> Self {
        Self {
            adapted: Some(Mutex::new(Adapted {
                limit: AdaptiveLimit::new(connections, Instant::now()),
                existing: connections,
            })),
            ..Self::new(connections as usize)
        }
    }

    /// A permit to ask the pool.
    ///
    /// # Errors
    /// [`QueueStands`], where a client waits for the operation, and permits are adaptive: SQLite has one writer, which a slow disk
    /// keeps from a single client, too.
    pub(super) async fn acquire(&self) -> Result<Permit<'_>, QueueStands> {
        let turn = async {
            if let Ok(permit) = self.semaphore.try_acquire() {
                // None waits: a permit that is given back goes to those that wait.
                return permit;
            }
            let (_waiting, is_first) = WaitingOperation::start(&self.waiting);
            if is_first {
                self.adapt(AdaptiveLimit::was_not_used_up);
            }
            // The semaphore is first in, first out.
            let mut permit = pin!(self.semaphore.acquire());
            loop {
                if let Ok(permit) = timeout(STALL, &mut permit).await {
                    return permit.expect("the semaphore is never closed");
                }
                self.adapt(AdaptiveLimit::has_waited);
            }
        };
        if self.adapted.is_none() {
            return Ok(self.permit(turn.await));
        }
        let permit = wait(turn).await;
        let permit = permit.inspect_err(|_| self.refused.increment(1))?;
        Ok(self.permit(permit))
    }

    /// The connections of the pool, and the operations that wait for one, with or without a permit.
    pub(super) fn connections(&self, pool: &deadpool::Status) -> Connections {
        let mut connections = Connections::of(pool);
        let here = u32::try_from(self.waiting.load(Ordering::Relaxed)).unwrap_or(u32::MAX);
        connections.waiting = connections.waiting.saturating_add(here);
        if let Some(adapted) = &self.adapted {
            let adapted = adapted.lock().unwrap_or_else(PoisonError::into_inner);
            connections.limit = adapted.limit.limit();
        }
        connections
    }

    fn permit<'a>(&'a self, permit: SemaphorePermit<'a>) -> Permit<'a> {
        Permit {
            permit: Some(permit),
            of: self,
        }
    }

    /// Lets the limit know of an event, and makes free permits as many as it allows.
    fn adapt(&self, event: impl FnOnce(&mut AdaptiveLimit, Instant)) {
        let Some(adapted) = &self.adapted else { return };
        let mut adapted = adapted.lock().unwrap_or_else(PoisonError::into_inner);
        event(&mut adapted.limit, Instant::now());
        let limit = adapted.limit.limit();
        if let Some(further) = limit.checked_sub(adapted.existing) {
            self.semaphore.add_permits(further as usize);
            adapted.existing = limit;
        }
    }

    /// Whether a permit that is given back is one too many. Then it exists no more.
    fn is_one_too_many(&self) -> bool {
        let Some(adapted) = &self.adapted else {
            return false;
        };
        let mut adapted = adapted.lock().unwrap_or_else(PoisonError::into_inner);
        let is_too_many = adapted.existing > adapted.limit.limit();
        adapted.existing -= u32::from(is_too_many);
        is_too_many
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let Some(permit) = self.permit.take() else {
            return;
        };
        if self.of.waiting.load(Ordering::Relaxed) > 0 {
            self.of.adapt(AdaptiveLimit::finished);
        }
        if self.of.is_one_too_many() {
            permit.forget();
        }
    }
}

impl<'a> WaitingOperation<'a> {
    /// And whether none waited before.
    fn start(waiting: &'a AtomicUsize) -> (Self, bool) {
        let before = waiting.fetch_add(1, Ordering::Relaxed);
        (Self(waiting), before == 0)
    }
}

impl Drop for WaitingOperation<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;
    use futures_util::future::join_all;
    use tokio::time::sleep;

    use super::*;
    use crate::store::for_waiting_client;

    fn pool(size: usize) -> deadpool::Status {
        deadpool::Status {
            max_size: size,
            size: 0,
            available: 0,
            waiting: 0,
        }
    }

    #[tokio::test]
    async fn a_waiting_operation_is_counted_until_it_has_a_permit_or_gives_up() {
        let permits = Permits::new(1);
        let waiting = || permits.connections(&pool(1)).waiting;
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

    #[tokio::test(start_paused = true)]
    async fn a_request_that_has_begun_waits_for_its_later_operations() {
        let permits = Permits::adaptive(1);
        let request = async {
            drop(permits.acquire().await?);
            let long = permits.semaphore.acquire().await.unwrap();
            let other = async {
                sleep(Duration::from_secs(1)).await;
                drop(long);
            };
            let (later, ()) = futures_util::future::join(permits.acquire(), other).await;
            later.map(drop)
        };
        assert!(
            for_waiting_client(Duration::from_millis(100), request)
                .await
                .is_ok()
        );
    }

    /// The operations of a server with one processor: the more at once, the longer each takes.
    async fn overload(permits: &Permits, seconds: u64) -> u32 {
        let (running, until) = (AtomicUsize::new(0), Duration::from_secs(seconds));
        let (running, started) = (&running, Instant::now());
        let most = &AtomicUsize::new(0);
        let clients = (0..64).map(|_| async move {
            while started.elapsed() < until {
                let _permit = permits.acquire().await.unwrap();
                let at_once = running.fetch_add(1, Ordering::Relaxed) + 1;
                most.fetch_max(at_once, Ordering::Relaxed);
                sleep(Duration::from_millis(2 * at_once as u64)).await;
                running.fetch_sub(1, Ordering::Relaxed);
            }
        });
        join_all(clients).await;
        assert!(most.load(Ordering::Relaxed) <= 10);
        permits.connections(&pool(10)).limit
    }

    #[tokio::test(start_paused = true)]
    async fn stuck_operations_neither_keep_others_out_nor_take_the_limit_down_for_good() {
        let permits = Permits::adaptive(10);
        assert!(overload(&permits, 20).await <= 4);
        // A lock stops all that may run: at most ten, one after the other.
        let mut stuck = Vec::new();
        for _ in 0..9 {
            stuck.push(permits.acquire().await.unwrap());
        }
        let beside = timeout(Duration::from_secs(1), permits.acquire()).await;
        drop(beside.expect("an operation runs beside them"));
        drop(stuck);
        assert!(overload(&permits, 20).await <= 4);
        sleep(Duration::from_secs(11)).await;
        let all = join_all((0..10).map(|_| permits.acquire()));
        timeout(Duration::from_secs(1), all)
            .await
            .expect("all connections are used again");
    }
}
