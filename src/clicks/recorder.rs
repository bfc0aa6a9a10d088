//! Gathers clicks into batches: while one batch is on its way, the next one gathers.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use crate::clicks::Delivery;
use crate::domain::LinkId;

/// Where redirects leave their clicks; one per worker, so that workers share no lock.
#[derive(Default)]
pub struct Recorder {
    gathering: Mutex<Gathering>,
    /// Tells the delivering task that the first click of a batch is there.
    first: Notify,
}

/// The batch that is being gathered: one entry per click, and the gate behind which its visitors wait.
#[derive(Default)]
struct Gathering {
    clicks: Vec<LinkId>,
    visitors: u64,
    gate: Arc<Notify>,
}

/// Proof that a click is counted; only the recorder makes one.
#[derive(Debug)]
pub struct Recorded(());

impl Recorder {
    /// Counts a click of `link`; returns when it is acknowledged. There is no failure: what no sink
    /// takes in time is held in memory and delivered later.
    pub async fn record(&self, link: LinkId) -> Recorded {
        self.join(Some(link)).await;
        Recorded(())
    }

    /// Waits as a click would, without one: afterwards every change that was answered before is known.
    pub async fn barrier(&self) {
        self.join(None).await;
    }

    async fn join(&self, link: Option<LinkId>) {
        let released = {
            let mut gathering = self
                .gathering
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            gathering.clicks.extend(link);
            gathering.visitors += 1;
            if gathering.visitors == 1 {
                self.first.notify_one();
            }
            // Made under the lock: the gate opens for everybody who had it by then.
            Arc::clone(&gathering.gate).notified_owned()
        };
        released.await;
    }

    /// Delivers batch after batch. Once `stopped` ends, it goes on until nothing is in memory alone; the
    /// caller bounds how long that may take.
    pub async fn run(&self, mut delivery: Delivery, stopped: impl Future<Output = ()>) {
        tokio::pin!(stopped);
        loop {
            tokio::select! {
                biased;
                // Before the next batch: what was in doubt keeps batches from Redis.
                () = delivery.repaired(), if delivery.needs_repair() => {}
                () = self.first.notified() => self.deliver_gathered(&mut delivery).await,
                () = &mut stopped => break,
            }
        }
        self.deliver_gathered(&mut delivery).await;
        while delivery.is_at_risk() {
            delivery.repaired().await;
        }
    }

    async fn deliver_gathered(&self, delivery: &mut Delivery) {
        let gathered = {
            let mut gathering = self
                .gathering
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *gathering)
        };
        if gathered.visitors == 0 {
            return;
        }
        delivery.deliver(gathered.clicks).await;
        gathered.gate.notify_waiters();
    }
}
