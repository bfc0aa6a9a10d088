//! Gathers the clicks of one worker into batches: while one batch is being delivered, the next one gathers.

use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use tokio::sync::Notify;
use tokio::task::yield_now;

use crate::clicks::Deliveries;
use crate::clicks::deliveries::Barriers;
use crate::domain::{Click, Shard};

/// Takes the clicks of redirects; one per worker, so that workers share no lock.
#[derive(Default)]
pub struct Recorder {
    batches: Mutex<Batches>,
    /// Wakes the delivering task when a batch gets its first waiter.
    has_waiter: Notify,
}

/// The batch that gathers and the one that is being delivered, with the waiters of each.
#[derive(Default)]
struct Batches {
    /// One entry per click.
    clicks: Vec<Click>,
    barriers: Barriers,
    gathering: Vec<Waker>,
    under_way: Vec<Waker>,
    /// How many batches were taken for delivery; the one that gathers has this number.
    taken: u64,
    /// When the newest batch that was taken was acknowledged; `None` while it is being delivered.
    acknowledged: Option<Instant>,
}

/// What a redirect adds to a batch.
#[derive(Clone, Copy)]
enum Entry {
    Click(Click),
    /// Nothing to count: the redirect only needs the link changes of this shard.
    Barrier(Shard),
}

/// A waiter's position in a batch.
#[derive(Clone, Copy)]
struct Position {
    batch: u64,
    index: usize,
}

/// Proof that a click is counted; only the recorder makes one.
#[derive(Debug)]
pub struct ClickReceipt {
    at: Instant,
}

impl ClickReceipt {
    /// When it was acknowledged: the clock is read once for all redirects of a batch.
    #[must_use]
    pub fn at(&self) -> Instant {
        self.at
    }
}

impl Recorder {
    /// Counts a click; returns when it is acknowledged. There is no failure: a click that no sink accepts in time stays in
    /// memory and is delivered later.
    pub async fn record(&self, click: Click) -> ClickReceipt {
        let at = self.join(Entry::Click(click)).await;
        ClickReceipt { at }
    }

    /// Waits as long as a click in this shard would, without one. Afterwards this process knows every link change of the
    /// shard that was published before.
    pub async fn barrier(&self, shard: Shard) -> Instant {
        self.join(Entry::Barrier(shard)).await
    }

    async fn join(&self, entry: Entry) -> Instant {
        let mut position = None;
        poll_fn(|context| {
            let mut batches = self.batches();
            if let Some(position) = position {
                return batches.poll(position, context);
            }
            position = Some(batches.add(entry, context));
            if batches.gathering.len() == 1 {
                self.has_waiter.notify_one();
            }
            Poll::Pending
        })
        .await
    }

    fn batches(&self) -> MutexGuard<'_, Batches> {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Delivers batch after batch. Once `stopped` ends, it goes on until no click is in memory alone; the caller bounds how
    /// long that may take.
    pub async fn run(&self, mut delivery: Deliveries, stopped: impl Future<Output = ()>) {
        tokio::pin!(stopped);
        loop {
            tokio::select! {
                biased;
                // Before the next batch: while a batch is in doubt, Redis gets no newer one.
                () = delivery.redeliver(), if delivery.needs_redelivery() => {}
                () = self.has_waiter.notified() => {
                    // Requests that wait at the sockets join the batch.
                    yield_now().await;
                    self.deliver_gathered(&mut delivery).await;
                }
                () = &mut stopped => break,
            }
        }
        self.deliver_gathered(&mut delivery).await;
        while delivery.is_at_risk() {
            delivery.redeliver().await;
        }
    }

    async fn deliver_gathered(&self, delivery: &mut Deliveries) {
        let Some((clicks, barriers)) = self.batches().take() else {
            return;
        };
        delivery.deliver(clicks, barriers).await;
        let mut waiters = self.batches().acknowledge(Instant::now());
        for waiter in waiters.drain(..) {
            waiter.wake();
        }
        // Its allocation is used again.
        self.batches().under_way = waiters;
    }
}

impl Batches {
    fn add(&mut self, entry: Entry, context: &Context<'_>) -> Position {
        match entry {
            Entry::Click(click) => self.clicks.push(click),
            Entry::Barrier(shard) => self.barriers.add(shard),
        }
        self.gathering.push(context.waker().clone());
        Position {
            batch: self.taken,
            index: self.gathering.len() - 1,
        }
    }

    fn poll(&mut self, position: Position, context: &Context<'_>) -> Poll<Instant> {
        let waiting = match self.acknowledged {
            // A batch is delivered only after all before it were acknowledged.
            Some(at) if position.batch < self.taken => return Poll::Ready(at),
            _ if position.batch == self.taken => &mut self.gathering,
            _ if position.batch + 1 == self.taken => &mut self.under_way,
            _ => return Poll::Ready(Instant::now()),
        };
        if let Some(waker) = waiting.get_mut(position.index) {
            waker.clone_from(context.waker());
        }
        Poll::Pending
    }

    /// Takes the gathered batch; `None` if it has no waiter.
    fn take(&mut self) -> Option<(Vec<Click>, Barriers)> {
        if self.gathering.is_empty() {
            return None;
        }
        self.taken += 1;
        self.acknowledged = None;
        std::mem::swap(&mut self.gathering, &mut self.under_way);
        Some((
            std::mem::take(&mut self.clicks),
            std::mem::take(&mut self.barriers),
        ))
    }

    /// Returns the waiters of the batch that was being delivered.
    fn acknowledge(&mut self, now: Instant) -> Vec<Waker> {
        self.acknowledged = Some(now);
        std::mem::take(&mut self.under_way)
    }
}
