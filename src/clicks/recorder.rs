//! Gathers clicks into batches: while one batch is on its way, the next one gathers.

use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use tokio::sync::Notify;
use tokio::task::yield_now;

use crate::clicks::Deliveries;
use crate::clicks::deliveries::Barriers;
use crate::domain::{Click, Shard};

/// Where redirects leave their clicks; one per worker, so that workers share no lock.
#[derive(Default)]
pub struct Recorder {
    batches: Mutex<Batches>,
    /// Tells the delivering task that the first visitor of a batch is there.
    first: Notify,
}

/// The batch that gathers and the one that is on its way, with those who wait for them.
#[derive(Default)]
struct Batches {
    /// One entry per click.
    clicks: Vec<Click>,
    barriers: Barriers,
    gathering: Vec<Waker>,
    under_way: Vec<Waker>,
    /// How many batches were taken; the one that gathers has this number.
    taken: u64,
    /// When the newest batch that was taken was acknowledged; `None` while it is on its way.
    acknowledged: Option<Instant>,
}

/// What a visitor joins a batch with.
#[derive(Clone, Copy)]
enum Entry {
    Click(Click),
    /// Nothing to be counted: only the changes in this shard are waited for.
    Barrier(Shard),
}

/// A visitor's place in a batch.
#[derive(Clone, Copy)]
struct Place {
    batch: u64,
    index: usize,
}

/// Proof that a click is counted; only the recorder makes one.
#[derive(Debug)]
pub struct ClickReceipt {
    at: Instant,
}

impl ClickReceipt {
    /// When it was acknowledged: one reading of the clock for all visitors of a batch.
    #[must_use]
    pub fn at(&self) -> Instant {
        self.at
    }
}

impl Recorder {
    /// Counts a click; returns when it is acknowledged. There is no failure: what no sink
    /// takes in time is held in memory and delivered later.
    pub async fn record(&self, click: Click) -> ClickReceipt {
        let at = self.join(Entry::Click(click)).await;
        ClickReceipt { at }
    }

    /// Waits as a click in this shard would, without one: afterwards every change in it that was answered
    /// before is known.
    pub async fn barrier(&self, shard: Shard) -> Instant {
        self.join(Entry::Barrier(shard)).await
    }

    async fn join(&self, entry: Entry) -> Instant {
        let mut place = None;
        poll_fn(|context| {
            let mut batches = self.batches();
            if let Some(place) = place {
                return batches.poll(place, context);
            }
            place = Some(batches.enter(entry, context));
            if batches.gathering.len() == 1 {
                self.first.notify_one();
            }
            Poll::Pending
        })
        .await
    }

    fn batches(&self) -> MutexGuard<'_, Batches> {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Delivers batch after batch. Once `stopped` ends, it goes on until nothing is in memory alone; the
    /// caller bounds how long that may take.
    pub async fn run(&self, mut delivery: Deliveries, stopped: impl Future<Output = ()>) {
        tokio::pin!(stopped);
        loop {
            tokio::select! {
                biased;
                // Before the next batch: what was in doubt keeps batches from Redis.
                () = delivery.repaired(), if delivery.needs_repair() => {}
                () = self.first.notified() => {
                    // Whoever is at the door already comes along.
                    yield_now().await;
                    self.deliver_gathered(&mut delivery).await;
                }
                () = &mut stopped => break,
            }
        }
        self.deliver_gathered(&mut delivery).await;
        while delivery.is_at_risk() {
            delivery.repaired().await;
        }
    }

    async fn deliver_gathered(&self, delivery: &mut Deliveries) {
        let Some((clicks, barriers)) = self.batches().take() else {
            return;
        };
        delivery.deliver(clicks, barriers).await;
        let mut visitors = self.batches().acknowledge(Instant::now());
        for visitor in visitors.drain(..) {
            visitor.wake();
        }
        // Kept for its space.
        self.batches().under_way = visitors;
    }
}

impl Batches {
    fn enter(&mut self, entry: Entry, context: &Context<'_>) -> Place {
        match entry {
            Entry::Click(click) => self.clicks.push(click),
            Entry::Barrier(shard) => self.barriers.add(shard),
        }
        self.gathering.push(context.waker().clone());
        Place {
            batch: self.taken,
            index: self.gathering.len() - 1,
        }
    }

    fn poll(&mut self, place: Place, context: &Context<'_>) -> Poll<Instant> {
        let waiting = match self.acknowledged {
            // A batch is on its way only after all before it were acknowledged.
            Some(at) if place.batch < self.taken => return Poll::Ready(at),
            _ if place.batch == self.taken => &mut self.gathering,
            _ if place.batch + 1 == self.taken => &mut self.under_way,
            _ => return Poll::Ready(Instant::now()),
        };
        if let Some(waker) = waiting.get_mut(place.index) {
            waker.clone_from(context.waker());
        }
        Poll::Pending
    }

    /// Takes what was gathered; `None` where nobody waits.
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

    /// Returns those who waited for the batch that was on its way.
    fn acknowledge(&mut self, now: Instant) -> Vec<Waker> {
        self.acknowledged = Some(now);
        std::mem::take(&mut self.under_way)
    }
}
