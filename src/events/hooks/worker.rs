//! Works hooks off: reads the feeds of their accounts and sends what their receivers want.
//!
//! Of each link at most one event is on its way. While a receiver takes everything, events are sent as they are read, and noted
//! afterwards; what it does not take waits in line, and so does what comes meanwhile.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::reading::{HookReader, New};
use super::round::{Leased, Outgoing, SIDE_BY_SIDE, Sent, send_round};
use super::sender::Sender;
use crate::domain::{CurrentHosts, HookTargets};
use crate::store::{Attempt, DueDelivery, LeasedHook, NewDeliveries, Round, Store, StoreError};
use crate::telemetry::metrics::HOOK_DELIVERIES;

/// Hooks that are worked off at once: each has the events of one round and some connections.
const MAX_HOOKS_AT_ONCE: usize = 512;

/// Hooks that ask the database at once: clients of the service wait behind them in the same queue.
const MAX_AT_DATABASE: usize = 4;

/// A receiver gets one delivery in this time, in the mean.
const PACE: Duration = Duration::from_millis(10);

/// So many deliveries wait at most: further events are read when the receiver took some.
const MAX_WAITING: u32 = 1_000;

/// Deliveries of a hook that are kept, and after how many more the older ones are removed.
const KEPT: u32 = 10_000;
const REMOVED_AFTER: u32 = 1_000;

/// A hook is worked off for so long; then others have their turn.
const TURN: Duration = Duration::from_secs(10);

/// Works off the hooks of all accounts, beside other instances.
pub struct HookWorker {
    store: Store,
    reader: HookReader,
    sender: Sender,
    /// Turns at the database.
    turns: Arc<Semaphore>,
    /// The name of this process.
    holder: String,
    /// Hooks that are worked off.
    running: Mutex<HashSet<i64>>,
    /// Deliveries of each hook since the older ones were removed.
    kept: Mutex<HashMap<i64, u32>>,
}

impl HookWorker {
    /// Under a name that no other process has.
    #[must_use]
    pub fn new(store: Store, hosts: CurrentHosts, targets: HookTargets, holder: String) -> Self {
        // Otherwise the first delivery would be no increase.
        count_deliveries(0, 0);
        let turns = Arc::new(Semaphore::new(MAX_AT_DATABASE));
        Self {
            reader: HookReader::new(store.clone(), hosts, Arc::clone(&turns)),
            store,
            turns,
            sender: Sender::new(targets),
            holder,
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

    /// Takes over from the process before, if there is only one at a time.
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

    /// Asks the database in a turn.
    async fn ask<T>(
        &self,
        question: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let _turn = self.turns.acquire().await;
        question.await
    }

    fn running(&self) -> std::sync::MutexGuard<'_, HashSet<i64>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, HashMap<i64, u32>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn work_off(&self, id: i64) -> Result<(), StoreError> {
        let ends = Instant::now() + TURN;
        while Instant::now() < ends {
            // The lease counts from the turn, however long that was waited for.
            let leasing = async {
                let began = Instant::now();
                let hook = self.store.lease_hook(id, &self.holder).await?;
                Ok((hook, began))
            };
            let (Some(hook), began) = self.ask(leasing).await? else {
                self.kept().remove(&id);
                return Ok(());
            };
            let leased = Leased { hook, began };
            let sent = if leased.hook.hook.waiting == 0 && leased.hook.held == 0 {
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
        let Some(New { mut read, are_more }) = self.reader.read_new(hook).await? else {
            return Ok(None);
        };
        let outgoing = read.deliveries.iter().map(|delivery| Outgoing {
            event_id: &delivery.event_id,
            body: &delivery.body,
            attempts: 0,
            failing_since: None,
        });
        let Some(Sent { attempts, round }) =
            send_round(&self.sender, leased, outgoing.collect()).await
        else {
            return Ok(None);
        };
        for (delivery, attempt) in read.deliveries.iter_mut().zip(attempts) {
            delivery.attempt = attempt;
        }
        let is_noted = self.note_new(leased, &read, &round).await?;
        let goes_on = is_noted && are_more && round.failed == 0;
        Ok(goes_on.then_some(round.taken))
    }

    /// Puts what happened meanwhile in line; whether there may be more.
    async fn queue_new(&self, leased: &Leased) -> Result<bool, StoreError> {
        let Some(New { read, are_more }) = self.reader.read_queue(&leased.hook).await? else {
            return Ok(false);
        };
        let is_noted = self.note_new(leased, &read, &Round::default()).await?;
        Ok(is_noted && are_more)
    }

    /// Puts more of a held link in line; whether there may be more.
    async fn queue_held(&self, leased: &Leased) -> Result<bool, StoreError> {
        let (hook, now) = (&leased.hook, leased.now());
        let Some(held) = self.reader.read_held(hook).await? else {
            return Ok(false);
        };
        let added = self.store.add_held_deliveries(
            hook,
            &self.holder,
            &held.link,
            (&held.deliveries, held.next),
            now,
        );
        let is_added = self.ask(added).await?;
        self.remove_older(hook.hook.id, held.deliveries.len())
            .await?;
        Ok(is_added)
    }

    /// Sends what waits, and puts what happened meanwhile in line; as [`HookWorker::send_new`].
    async fn send_waiting(&self, leased: &Leased) -> Result<Option<u32>, StoreError> {
        let hook = &leased.hook;
        let are_more_held = hook.held > 0 && self.queue_held(leased).await?;
        let has_room = hook.hook.waiting < u64::from(MAX_WAITING);
        let are_more = has_room && self.queue_new(leased).await? || are_more_held;
        let now = leased.now();
        let most = if hook.failures > 0 { 1 } else { SIDE_BY_SIDE };
        let limit = u32::try_from(most).unwrap_or(u32::MAX);
        let due = if hook.retry_at > now {
            Vec::new()
        } else {
            // A receiver that takes nothing is asked for what it did not see yet, and each fourth time for the oldest.
            let fresh_first = !hook.failures.is_multiple_of(4);
            let due = self
                .store
                .due_deliveries(hook.hook.id, now, fresh_first, limit);
            self.ask(due).await?
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
        let Some(Sent { attempts, round }) =
            send_round(&self.sender, leased, outgoing.collect()).await
        else {
            return Ok(None);
        };
        let attempts = due.into_iter().zip(attempts);
        let attempts = attempts.filter_map(|(delivery, attempt)| Some((delivery, attempt?)));
        let attempts: Vec<(DueDelivery, Attempt)> = attempts.collect();
        let noted = self
            .store
            .note_attempts(hook, &self.holder, &attempts, &round, leased.now());
        let goes_on = self.ask(noted).await? && round.taken > 0 && round.off.is_none();
        note_round(hook, &round);
        Ok(goes_on.then_some(round.taken))
    }

    /// Removes the oldest deliveries from time to time.
    async fn remove_older(&self, id: i64, made: usize) -> Result<(), StoreError> {
        let is_time = {
            let mut kept = self.kept();
            let since = kept.entry(id).or_default();
            *since = since.saturating_add(u32::try_from(made).unwrap_or(u32::MAX));
            let is_time = *since >= REMOVED_AFTER;
            if is_time {
                *since = 0;
            }
            is_time
        };
        if is_time {
            self.ask(self.store.keep_newest_deliveries(id, KEPT))
                .await?;
        }
        Ok(())
    }

    async fn note_new(
        &self,
        leased: &Leased,
        read: &NewDeliveries,
        round: &Round,
    ) -> Result<bool, StoreError> {
        let (hook, now) = (&leased.hook, leased.now());
        let noted = self
            .store
            .add_deliveries(hook, &self.holder, read, round, now);
        let is_noted = self.ask(noted).await?;
        note_round(hook, round);
        self.remove_older(hook.hook.id, read.deliveries.len())
            .await?;
        Ok(is_noted)
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
