//! Gathers the clicks of one worker into batches: while one batch is being delivered, the next one gathers.
//!
//! Each shard has a recorder of its own, so that a redirect waits for the acknowledgement of its own shard alone.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use tokio::sync::Notify;
use tokio::task::yield_now;

use crate::clicks::Delivery;
use crate::clicks::delivery::Delivered;
use crate::clicks::gathered::{GatheredClicks, RecordedClick};
use crate::domain::{Click, ClickClass, LinkId, Shard, UserId};

/// The recorders of one worker, one for every shard; cheap to clone. Workers share none, and so no lock.
#[derive(Clone)]
pub struct Recorders(Arc<[Recorder]>);

/// Takes the clicks of one shard.
#[derive(Default)]
pub struct Recorder {
    batches: Mutex<Batches>,
    /// Wakes the delivering task when a batch gets its first waiter.
    has_waiter: Notify,
}

/// How many overtaken batches are remembered, many more than are taken before each waiter of one has seen to it.
const MAX_OVERTAKEN: usize = 1_000;

/// The batch that gathers and the one that is being delivered, with the waiters of each.
#[derive(Default)]
struct Batches {
    gathered: GatheredClicks,
    gathering: Vec<Waker>,
    under_way: Vec<Waker>,
    /// How many batches were taken for delivery; the one that gathers has this number.
    taken: u64,
    /// When the newest batch that was taken was acknowledged; `None` while it is being delivered.
    acknowledged: Option<Instant>,
    /// The newest batches whose clicks were not counted, by number.
    overtaken: VecDeque<u64>,
}

/// A click was not counted: some link changed after its own was looked up, perhaps this one.
#[derive(Debug)]
pub struct Overtaken {
    /// When that was found.
    pub at: Instant,
}

/// What a waiter is woken with.
struct Acknowledged {
    at: Instant,
    is_counted: bool,
}

/// A waiter's position in a batch.
#[derive(Clone, Copy)]
struct Position {
    batch: u64,
    index: usize,
}

/// Proof that a click is counted; only the recorder and the grants make one.
#[derive(Debug)]
pub struct ClickReceipt {
    at: Instant,
}

impl ClickReceipt {
    /// Of a click that was just granted.
    pub(super) fn of_grant() -> Self {
        Self { at: Instant::now() }
    }

    /// When it was acknowledged: the clock is read once for all redirects of a batch.
    #[must_use]
    pub fn at(&self) -> Instant {
        self.at
    }
}

impl Recorders {
    /// Recorders for this many shards.
    #[must_use]
    pub fn new(shards: usize) -> Self {
        Self((0..shards).map(|_| Recorder::default()).collect())
    }

    /// The recorder of a shard.
    #[must_use]
    pub fn of(&self, shard: Shard) -> &Recorder {
        &self.0[shard.index()]
    }

    /// Counts a click of a link that was looked up at this version of the cache; returns when it is acknowledged. A click that
    /// no sink accepts in time stays in memory and is delivered later. A click by an alias is counted for the alias, too.
    ///
    /// # Errors
    /// [`Overtaken`] if a link changed before the click was sent to a sink: its link has to be looked up again.
    pub async fn record(
        &self,
        click: Click,
        alias: Option<LinkId>,
        class: Option<Arc<ClickClass>>,
        version: u64,
    ) -> Result<ClickReceipt, Overtaken> {
        let recorder = self.of(click.shard());
        let classed = RecordedClick::of(click, class);
        let joined = recorder.join(Some(classed), alias, Some(version));
        let Acknowledged { at, is_counted } = joined.await;
        if is_counted {
            Ok(ClickReceipt { at })
        } else {
            Err(Overtaken { at })
        }
    }

    /// The same, whatever changed meanwhile.
    pub async fn record_unconditionally(
        &self,
        click: Click,
        alias: Option<LinkId>,
        class: Option<Arc<ClickClass>>,
    ) -> ClickReceipt {
        let recorder = self.of(click.shard());
        let classed = RecordedClick::of(click, class);
        let Acknowledged { at, .. } = recorder.join(Some(classed), alias, None).await;
        ClickReceipt { at }
    }

    /// Counts for an alias a click that its link has already.
    pub async fn record_alias(&self, alias: LinkId, shard: Shard) -> ClickReceipt {
        let click = Click::new(alias, UserId::NOBODY, shard);
        self.record_unconditionally(click, None, None).await
    }

    /// Waits as long as a click in this shard would, without one. Afterwards this process knows every link change of the
    /// shard that was published before.
    pub async fn barrier(&self, shard: Shard) -> Instant {
        loop {
            let Acknowledged { at, is_counted } = self.of(shard).join(None, None, None).await;
            // A batch that was overtaken may not have been sent.
            if is_counted {
                return at;
            }
        }
    }
}

impl Recorder {
    /// Joins the batch that gathers, with a click or without one; returns when the batch is acknowledged.
    async fn join(
        &self,
        mut click: Option<RecordedClick>,
        alias: Option<LinkId>,
        version: Option<u64>,
    ) -> Acknowledged {
        let mut position = None;
        poll_fn(|context| {
            let mut batches = self.batches();
            if let Some(position) = position {
                return batches.poll(position, context);
            }
            position = Some(batches.add(click.take(), alias, version, context));
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
    pub async fn run(&self, mut delivery: Delivery, stopped: impl Future<Output = ()>) {
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

    async fn deliver_gathered(&self, delivery: &mut Delivery) {
        let Some(gathered) = self.batches().take() else {
            return;
        };
        let delivered = delivery.deliver(gathered).await;
        let mut waiters = self.batches().acknowledge(Instant::now(), delivered);
        for waiter in waiters.drain(..) {
            waiter.wake();
        }
        // Its allocation is used again.
        self.batches().under_way = waiters;
    }
}

impl Batches {
    /// Adds a waiter, with a click whose link was looked up at a version, or that has to be counted at any.
    fn add(
        &mut self,
        click: Option<RecordedClick>,
        alias: Option<LinkId>,
        version: Option<u64>,
        context: &Context<'_>,
    ) -> Position {
        if let Some(click) = click {
            self.gathered.add(click, version);
        }
        if let Some(alias) = alias {
            self.gathered.add(RecordedClick::of_alias(alias), version);
        }
        self.gathering.push(context.waker().clone());
        Position {
            batch: self.taken,
            index: self.gathering.len() - 1,
        }
    }

    fn poll(&mut self, position: Position, context: &Context<'_>) -> Poll<Acknowledged> {
        let is_counted = !self.overtaken.contains(&position.batch);
        let waiting = match self.acknowledged {
            // A batch is delivered only after all before it were acknowledged.
            Some(at) if position.batch < self.taken => {
                return Poll::Ready(Acknowledged { at, is_counted });
            }
            _ if position.batch == self.taken => &mut self.gathering,
            _ if position.batch + 1 == self.taken => &mut self.under_way,
            _ => {
                let at = Instant::now();
                return Poll::Ready(Acknowledged { at, is_counted });
            }
        };
        if let Some(waker) = waiting.get_mut(position.index) {
            waker.clone_from(context.waker());
        }
        Poll::Pending
    }

    /// Takes the gathered batch; `None` if it has no waiter.
    fn take(&mut self) -> Option<GatheredClicks> {
        if self.gathering.is_empty() {
            return None;
        }
        self.taken += 1;
        self.acknowledged = None;
        std::mem::swap(&mut self.gathering, &mut self.under_way);
        Some(std::mem::take(&mut self.gathered))
    }

    /// Returns the waiters of the batch that was being delivered.
    fn acknowledge(&mut self, now: Instant, delivered: Delivered) -> Vec<Waker> {
        self.acknowledged = Some(now);
        if delivered == Delivered::Overtaken {
            self.overtaken.truncate(MAX_OVERTAKEN - 1);
            self.overtaken.push_front(self.taken - 1);
        }
        std::mem::take(&mut self.under_way)
    }
}
