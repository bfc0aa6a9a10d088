//! Works hooks off: reads the feeds of their accounts and sends what their receivers want.
//!
//! Of each link at most one event is on its way. While a receiver takes everything, events are sent as they are read, and noted
//! afterwards; what it does not take waits in line, and so does what comes meanwhile.

mod round;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use round::{Outgoing, Sent};

use super::sender::Sender;
use crate::domain::{CurrentHosts, EventPlace, HookTargets, Timestamp};
use crate::events::event_body;
use crate::store::{
    Attempt, DueDelivery, Event, LeasedHook, NewDelivery, Round, Store, StoreError,
};
use crate::telemetry::metrics::HOOK_DELIVERIES;

/// Hooks that are worked off at once: each has at most [`MAX_ROUND_BYTES`] and some connections.
const MAX_HOOKS_AT_ONCE: usize = 512;

/// Deliveries to a receiver that are on their way at once.
const SIDE_BY_SIDE: usize = 8;

/// Events that are read at once.
const PAGE: usize = 100;

/// Deliveries of one round, unless the receiver takes nothing.
const MAX_ROUND: usize = 50;

/// Bytes of one round, unless its first event has more.
const MAX_ROUND_BYTES: usize = 128 << 10;

/// A receiver gets one delivery in this time, in the mean.
const PACE: Duration = Duration::from_millis(10);

/// So many deliveries wait at most: further events are read when the receiver took some.
const MAX_WAITING: u32 = 1_000;

/// Bytes of a delivery: of a larger one the classes are left out.
const MAX_BYTES: usize = 64 << 10;

/// Deliveries of a hook that are kept, and after how many more the older ones are removed.
const KEPT: u32 = 10_000;
const REMOVED_AFTER: u32 = 1_000;

/// Pages that are read and put in line at once: each may take some megabytes.
const MAX_READS: usize = 4;

/// A hook is worked off for so long; then others have their turn.
const TURN: Duration = Duration::from_secs(10);

/// Works off the hooks of all accounts, beside other instances.
pub struct HookWorker {
    store: Store,
    hosts: CurrentHosts,
    sender: Sender,
    /// The name of this process.
    holder: String,
    reads: Semaphore,
    /// Hooks that are worked off.
    running: Mutex<HashSet<i64>>,
    /// Deliveries of each hook since the older ones were removed.
    kept: Mutex<HashMap<i64, u32>>,
}

/// A hook, and when it was leased by the monotonic clock.
struct Leased {
    hook: LeasedHook,
    began: Instant,
}

impl Leased {
    /// The time by the clock of the database.
    fn now(&self) -> Timestamp {
        self.hook.leased_at.after(self.began.elapsed())
    }
}

/// What a receiver wants next.
struct New {
    deliveries: Vec<NewDelivery>,
    /// All up to here is in `deliveries`, or is not wanted.
    next: EventPlace,
    are_more: bool,
}

impl HookWorker {
    /// Under a name that no other process has.
    #[must_use]
    pub fn new(store: Store, hosts: CurrentHosts, targets: HookTargets, holder: String) -> Self {
        // Otherwise the first delivery would be no increase.
        count_deliveries(0, 0);
        Self {
            store,
            hosts,
            sender: Sender::new(targets),
            holder,
            reads: Semaphore::new(MAX_READS),
            running: Mutex::default(),
            kept: Mutex::default(),
        }
    }

    /// Begins to work off all hooks that have something to send. To be called about once a second.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn look(self: &Arc<Self>, tasks: &mut JoinSet<()>) -> Result<(), StoreError> {
        while tasks.try_join_next().is_some() {}
        let room = MAX_HOOKS_AT_ONCE.saturating_sub(tasks.len());
        // Those that are worked off already are found, too.
        let limit = u32::try_from(MAX_HOOKS_AT_ONCE + room).unwrap_or(u32::MAX);
        let due = self.store.due_hooks(&self.holder, MAX_WAITING, limit);
        for id in due.await? {
            if tasks.len() >= MAX_HOOKS_AT_ONCE || !self.running().insert(id) {
                continue;
            }
            let worker = Arc::clone(self);
            tasks.spawn(async move {
                let _ends = Running {
                    worker: &worker,
                    id,
                };
                if let Err(error) = worker.work_off(id).await {
                    tracing::debug!(%error, hook = id, "a hook is worked off later");
                }
            });
        }
        Ok(())
    }

    /// Takes over from the process before, where there is only one.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn begin(&self) -> Result<(), StoreError> {
        if self.store.has_one_process() {
            self.store.release_all_hooks().await?;
        }
        Ok(())
    }

    /// Leaves the hooks to other processes, once no task works any of them off.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn release(&self) -> Result<(), StoreError> {
        self.store.release_hooks(&self.holder).await
    }

    fn running(&self) -> std::sync::MutexGuard<'_, HashSet<i64>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn work_off(&self, id: i64) -> Result<(), StoreError> {
        let ends = Instant::now() + TURN;
        while Instant::now() < ends {
            let began = Instant::now();
            let leased = self.store.lease_hook(id, &self.holder).await?;
            let Some(hook) = leased else { return Ok(()) };
            let leased = Leased { hook, began };
            let sent = if leased.hook.hook.waiting == 0 {
                self.send_new(&leased).await?
            } else {
                self.send_waiting(&leased).await?
            };
            let Some(sent) = sent else { return Ok(()) };
            let pace = PACE.saturating_mul(sent.max(1));
            sleep(pace.saturating_sub(began.elapsed())).await;
        }
        Ok(())
    }

    /// Sends what happened; `None` if there is nothing to go on with, else how many deliveries were sent.
    async fn send_new(&self, leased: &Leased) -> Result<Option<u32>, StoreError> {
        let hook = &leased.hook;
        let Some(mut new) = self.read_new(hook).await? else {
            return Ok(None);
        };
        let outgoing = new.deliveries.iter().map(|delivery| Outgoing {
            event_id: &delivery.event_id,
            body: &delivery.body,
            attempts: 0,
            failing_since: None,
        });
        let Some(Sent { attempts, round }) = self.send(leased, outgoing.collect()).await else {
            return Ok(None);
        };
        for (delivery, attempt) in new.deliveries.iter_mut().zip(attempts) {
            delivery.attempt = attempt;
        }
        let is_noted = self
            .note_new(leased, &new.deliveries, new.next, &round)
            .await?;
        let goes_on = is_noted && new.are_more && round.failed == 0;
        Ok(goes_on.then_some(round.taken))
    }

    /// What the receiver wants next: at most one event of each link, as the second one waits for the first.
    async fn read_new(&self, hook: &LeasedHook) -> Result<Option<New>, StoreError> {
        let _turn = self.reads.acquire().await;
        let page = self.store.events_after(hook.owner, hook.read, PAGE).await?;
        if page.next == hook.read {
            return Ok(None);
        }
        let mut links = HashSet::new();
        let mut new = New {
            deliveries: Vec::new(),
            next: hook.read,
            // A short page was the last one.
            are_more: page.events.len() >= PAGE / 2,
        };
        let mut bytes = 0;
        for event in &page.events {
            if let Some(delivery) = self.delivery(hook, event) {
                bytes += delivery.body.len();
                let is_full = new.deliveries.len() >= MAX_ROUND || bytes > MAX_ROUND_BYTES;
                let is_second = !links.insert(delivery.link.clone());
                if is_full && !new.deliveries.is_empty() || is_second {
                    new.are_more = true;
                    return Ok(Some(new));
                }
                new.deliveries.push(delivery);
            }
            new.next = event.cursor.place;
        }
        new.next = page.next;
        Ok(Some(new))
    }

    /// Puts what happened meanwhile in line; whether there may be more.
    async fn queue_new(&self, leased: &Leased) -> Result<bool, StoreError> {
        let hook = &leased.hook;
        let _turn = self.reads.acquire().await;
        let page = self.store.events_after(hook.owner, hook.read, PAGE).await?;
        if page.next == hook.read {
            return Ok(false);
        }
        let events = page.events.iter();
        let deliveries = events.filter_map(|event| self.delivery(hook, event));
        let deliveries: Vec<_> = deliveries.collect();
        let nothing = Round::default();
        let is_noted = self
            .note_new(leased, &deliveries, page.next, &nothing)
            .await?;
        Ok(is_noted && page.events.len() >= PAGE / 2)
    }

    /// Sends what waits, and puts what happened meanwhile in line; as [`HookWorker::send_new`].
    async fn send_waiting(&self, leased: &Leased) -> Result<Option<u32>, StoreError> {
        let hook = &leased.hook;
        let are_more = hook.hook.waiting < u64::from(MAX_WAITING) && self.queue_new(leased).await?;
        let now = leased.now();
        let most = if hook.failures > 0 { 1 } else { SIDE_BY_SIDE };
        let limit = u32::try_from(most).unwrap_or(u32::MAX);
        let due = if hook.retry_at > now {
            Vec::new()
        } else {
            self.store.due_deliveries(hook.hook.id, now, limit).await?
        };
        if due.is_empty() {
            return Ok(are_more.then_some(0));
        }
        let outgoing = due.iter().map(|delivery| Outgoing {
            event_id: &delivery.event_id,
            body: &delivery.body,
            attempts: delivery.attempts,
            failing_since: delivery.failing_since,
        });
        let Some(Sent { attempts, round }) = self.send(leased, outgoing.collect()).await else {
            return Ok(None);
        };
        let attempts = due.into_iter().zip(attempts);
        let attempts = attempts.filter_map(|(delivery, attempt)| Some((delivery, attempt?)));
        let attempts: Vec<(DueDelivery, Attempt)> = attempts.collect();
        let noted = self
            .store
            .note_attempts(hook, &self.holder, &attempts, &round, leased.now());
        let goes_on = noted.await? && round.taken > 0 && round.off.is_none();
        note_round(hook, &round);
        Ok(goes_on.then_some(round.taken))
    }

    /// Removes the oldest deliveries from time to time.
    async fn remove_older(&self, id: i64, made: usize) -> Result<(), StoreError> {
        let is_time = {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            let since = kept.entry(id).or_default();
            *since = since.saturating_add(u32::try_from(made).unwrap_or(u32::MAX));
            let is_time = *since >= REMOVED_AFTER;
            if is_time {
                *since = 0;
            }
            is_time
        };
        if is_time {
            self.store.keep_newest_deliveries(id, KEPT).await?;
        }
        Ok(())
    }

    async fn note_new(
        &self,
        leased: &Leased,
        deliveries: &[NewDelivery],
        next: EventPlace,
        round: &Round,
    ) -> Result<bool, StoreError> {
        let hook = &leased.hook;
        let (new, now) = ((deliveries, next), leased.now());
        let noted = self
            .store
            .add_deliveries(hook, &self.holder, new, round, now);
        let is_noted = noted.await?;
        note_round(hook, round);
        self.remove_older(hook.hook.id, deliveries.len()).await?;
        Ok(is_noted)
    }

    /// The delivery of an event, if the receiver wants it.
    fn delivery(&self, hook: &LeasedHook, event: &Event) -> Option<NewDelivery> {
        let of = event.happened.event_type();
        if !hook.hook.filter.takes(of, &event.tags) {
            return None;
        }
        let code = event.code.as_ref();
        let mut document = event_body(event, code.and_then(|code| self.hosts.host_of(code)));
        let mut body = serde_json::to_string(&document).ok()?;
        if body.len() > MAX_BYTES {
            document.classes = None;
            body = serde_json::to_string(&document).ok()?;
        }
        Some(NewDelivery {
            event_id: document.id,
            of: of.as_str(),
            link: code
                .map(|code| code.as_key().to_owned())
                .unwrap_or_default(),
            body,
            attempt: None,
        })
    }
}

/// Notes that a hook is not worked off any more, also if its task is aborted.
struct Running<'a> {
    worker: &'a HookWorker,
    id: i64,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.worker.running().remove(&self.id);
    }
}

fn count_deliveries(taken: u32, failed: u32) {
    metrics::counter!(HOOK_DELIVERIES, "result" => "taken").increment(taken.into());
    metrics::counter!(HOOK_DELIVERIES, "result" => "failed").increment(failed.into());
}

fn note_round(hook: &LeasedHook, round: &Round) {
    count_deliveries(round.taken, round.failed);
    let id = hook.hook.id;
    if let Some(reason) = &round.off {
        tracing::info!(hook = id, account = hook.owner.user.0, %reason, "a hook is switched off");
    }
}
