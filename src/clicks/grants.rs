//! Grants of clicks: visits of links with a limit are gathered into batches, and the database says how many of each link are
//! redirected. While one batch is asked for, the next one gathers.

use std::collections::HashMap;
use std::iter::from_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::time::{sleep, timeout};

use crate::clicks::ClickReceipt;
use crate::domain::{Click, ClickClass, Clock, Interval, LinkId, UserId};
use crate::shared_redis::random_id;
use crate::store::{
    ClickBatch, ClickDetails, ClickLimits, DetailedClicks, Grant, LinkClicks, StoreError,
};
use crate::telemetry::metrics::{GRANTED, GRANTS_UNUSED, bounded};
use crate::telemetry::throttle::FailureLog;

/// Max visits in one batch: bounds how long one transaction keeps its rows locked.
const MAX_VISITS: usize = 1_000;

/// How long a visitor waits, and how long one waits once the database was late.
const DEADLINE: Duration = Duration::from_secs(2);
const DEADLINE_ONCE_LATE: Duration = Duration::from_millis(250);

/// Pause after an attempt that failed.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// Links of which unused grants are kept. Past that the grants of further visitors that left are lost.
const MAX_UNUSED_LINKS: usize = 10_000;

/// What a visitor wants of a link with a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A redirect, which uses one of its clicks up.
    Click,
    /// To know whether there would be a redirect.
    Preview,
}

/// What a visitor gets.
#[derive(Debug)]
pub enum GrantAnswer {
    /// A click was granted, and is counted.
    Click(ClickReceipt),
    /// There would be a redirect.
    Left,
    /// There is none left.
    UsedUp,
    /// The clicks from before the limit have to be counted first.
    Uncounted,
    /// The link has no limit any more.
    Unlimited,
}

/// The grants of one process.
pub struct Grants {
    limits: Arc<dyn ClickLimits>,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    /// Wakes the task that asks the database.
    has_visit: Notify,
    is_late: AtomicBool,
}

#[derive(Default)]
struct State {
    /// The visits that gather, in their order.
    visits: Vec<Visit>,
    /// Granted clicks whose visitors had left, for the next visitors of these links.
    unused: HashMap<LinkId, u64>,
}

/// What one batch asks for.
struct GrantRequest {
    /// By rising link.
    visits: Vec<Visit>,
    clicks: Vec<LinkClicks>,
    /// The classes of the visits; of the clicks that are granted, the database keeps the first ones.
    details: ClickDetails,
}

struct Visit {
    link: LinkId,
    owner: UserId,
    wanted: Wanted,
    class: Option<Arc<ClickClass>>,
    reply: oneshot::Sender<Reply>,
}

/// What a visitor is sent.
enum Reply {
    Click(Unused),
    Left,
    UsedUp,
    Uncounted,
    Unlimited,
}

/// A granted click for which no visitor is redirected yet. If it is dropped, the next visitor of its link gets it.
struct Unused {
    grants: Arc<Grants>,
    link: LinkId,
    is_used: bool,
}

impl Unused {
    fn used(mut self) -> ClickReceipt {
        self.is_used = true;
        ClickReceipt::of_grant()
    }
}

impl Drop for Unused {
    fn drop(&mut self) {
        if !self.is_used {
            self.grants.keep_unused(self.link, 1);
        }
    }
}

impl Grants {
    /// Grants by this database; [`Grants::run`] has to run for visitors to be answered.
    #[must_use]
    pub fn new(limits: Arc<dyn ClickLimits>, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            limits,
            clock,
            state: Mutex::default(),
            has_visit: Notify::new(),
            is_late: AtomicBool::new(false),
        })
    }

    /// Asks for a click of a link, or whether one is left. `None` where the database does not say so in time.
    pub async fn ask(
        &self,
        click: Click,
        wanted: Wanted,
        class: Option<Arc<ClickClass>>,
    ) -> Option<GrantAnswer> {
        let (reply, replied) = oneshot::channel();
        self.gather(Visit {
            link: click.link(),
            owner: click.owner(),
            wanted,
            class,
            reply,
        });
        let deadline = if self.is_late.load(Ordering::Relaxed) {
            DEADLINE_ONCE_LATE
        } else {
            DEADLINE
        };
        let Ok(reply) = timeout(deadline, replied).await else {
            self.is_late.store(true, Ordering::Relaxed);
            return None;
        };
        Some(match reply.ok()? {
            Reply::Click(unused) => GrantAnswer::Click(unused.used()),
            Reply::Left => GrantAnswer::Left,
            Reply::UsedUp => GrantAnswer::UsedUp,
            Reply::Uncounted => GrantAnswer::Uncounted,
            Reply::Unlimited => GrantAnswer::Unlimited,
        })
    }

    fn gather(&self, visit: Visit) {
        let mut state = self.state();
        let visits = &mut state.visits;
        if visits.len() == visits.capacity() {
            // While the database is away visitors come and go: the list is at most twice as long as those that wait.
            visits.retain(Visit::waits);
        }
        visits.push(visit);
        drop(state);
        self.has_visit.notify_one();
    }

    /// Whether there are granted clicks for the next visitors of a link.
    #[must_use]
    pub fn has_unused(&self, link: LinkId) -> bool {
        self.state().unused.contains_key(&link)
    }

    /// Asks for batch after batch until `stopped` ends. A batch whose answer is lost is asked for again until there is one:
    /// what it was granted is counted.
    pub async fn run(self: Arc<Self>, stopped: impl Future<Output = ()>) {
        let asking = async {
            // The databases keep it as a signed number.
            let (recorder, mut number) = (random_id() >> 1, 0);
            let mut failures = FailureLog::new("granting clicks of links with max_clicks");
            loop {
                self.has_visit.notified().await;
                while let Some(gathered) = self.gathered() {
                    let GrantRequest {
                        visits,
                        clicks,
                        details,
                    } = gathered;
                    number += 1;
                    let batch = ClickBatch {
                        recorder,
                        number,
                        interval: Interval::of(self.clock.now()),
                        clicks,
                        details,
                    };
                    match self.grants_of(&batch, &mut failures).await {
                        Some(grants) => self.reply_all(visits, &grants),
                        None => self.put_back(visits),
                    }
                }
            }
        };
        tokio::select! {
            () = asking => {}
            () = stopped => {}
        }
    }

    /// The next batch; `None` where no visitor waits.
    fn gathered(&self) -> Option<GrantRequest> {
        let mut state = self.state();
        state.visits.retain(Visit::waits);
        let rest = state.visits.len().min(MAX_VISITS);
        let rest = state.visits.split_off(rest);
        let mut visits = std::mem::replace(&mut state.visits, rest);
        visits.sort_by_key(|visit| visit.link);
        let of_one_link = visits.chunk_by(|one, other| one.link == other.link);
        let clicks = of_one_link.map(|visits| {
            let link = visits[0].link;
            let wanted = visits.iter().filter(|visit| visit.wanted == Wanted::Click);
            let unused = state.unused.get(&link).copied().unwrap_or_default();
            LinkClicks {
                link,
                owner: visits[0].owner,
                clicks: (wanted.count() as u64).saturating_sub(unused),
            }
        });
        let clicks: Vec<_> = clicks.collect();
        if clicks.is_empty() {
            return None;
        }
        let details = visits.iter().filter_map(|visit| {
            Some(DetailedClicks {
                link: visit.link,
                class: visit.class.clone()?,
                clicks: 1,
            })
        });
        let details = ClickDetails::new(details.collect());
        Some(GrantRequest {
            visits,
            clicks,
            details,
        })
    }

    /// The answer of the database; `None` where the batch was not sent, and so need not be asked for again.
    async fn grants_of(
        &self,
        batch: &ClickBatch,
        failures: &mut FailureLog,
    ) -> Option<HashMap<LinkId, Grant>> {
        let mut was_sent = false;
        loop {
            let grants = self.limits.grant(batch).await;
            self.is_late.store(grants.is_err(), Ordering::Relaxed);
            failures.note(&grants.as_ref().map(|_| ()));
            match grants {
                Ok(grants) => return Some(grants.into_iter().collect()),
                // A defect: a repetition would have the same answer.
                Err(StoreError::Unexpected(_)) => return Some(HashMap::new()),
                Err(error) => was_sent |= !matches!(error, StoreError::Unreachable(_)),
            }
            sleep(RETRY_PAUSE).await;
            if !was_sent {
                return None;
            }
        }
    }

    /// Visitors without a reply learn that there is none.
    fn reply_all(self: &Arc<Self>, visits: Vec<Visit>, grants: &HashMap<LinkId, Grant>) {
        let mut visits = visits.into_iter().peekable();
        while let Some(link) = visits.peek().map(|visit| visit.link) {
            let of_link = from_fn(|| visits.next_if(|visit| visit.link == link));
            match grants.get(&link) {
                None => of_link.for_each(drop),
                Some(Grant::Uncounted) => of_link.for_each(|visit| visit.send(Reply::Uncounted)),
                Some(Grant::Unlimited) => of_link.for_each(|visit| visit.send(Reply::Unlimited)),
                Some(Grant::Granted { clicks, left }) => {
                    self.hand_out(link, *clicks, *left, of_link);
                }
            }
        }
    }

    fn hand_out(
        self: &Arc<Self>,
        link: LinkId,
        clicks: u64,
        left: i64,
        visits: impl Iterator<Item = Visit>,
    ) {
        metrics::counter!(GRANTED).increment(clicks);
        let unused = self.take_unused(link);
        // Where the limit was lowered below what had been counted, no visitor is redirected any more.
        let mut clicks = if left < 0 { clicks } else { clicks + unused };
        let (visits, previews): (Vec<_>, Vec<_>) =
            visits.partition(|visit| visit.wanted == Wanted::Click);
        for visit in visits {
            if clicks == 0 {
                visit.send(Reply::UsedUp);
                continue;
            }
            let click = Unused {
                grants: Arc::clone(self),
                link,
                is_used: false,
            };
            match visit.reply.send(Reply::Click(click)) {
                // The visitor has left.
                Err(Reply::Click(mut click)) => click.is_used = true,
                _ => clicks -= 1,
            }
        }
        let is_left = left > 0 || clicks > 0;
        for preview in previews {
            preview.send(if is_left { Reply::Left } else { Reply::UsedUp });
        }
        self.keep_unused(link, clicks);
    }

    fn put_back(&self, mut visits: Vec<Visit>) {
        let mut state = self.state();
        visits.append(&mut state.visits);
        state.visits = visits;
    }

    fn take_unused(&self, link: LinkId) -> u64 {
        let unused = self.state().unused.remove(&link).unwrap_or_default();
        metrics::gauge!(GRANTS_UNUSED).decrement(bounded(unused));
        unused
    }

    fn keep_unused(&self, link: LinkId, clicks: u64) {
        let mut state = self.state();
        let has_room = state.unused.len() < MAX_UNUSED_LINKS || state.unused.contains_key(&link);
        if clicks > 0 && has_room {
            *state.unused.entry(link).or_default() += clicks;
            metrics::gauge!(GRANTS_UNUSED).increment(bounded(clicks));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Visit {
    /// Whether its visitor still waits.
    fn waits(&self) -> bool {
        !self.reply.is_closed()
    }

    fn send(self, reply: Reply) {
        // A visitor that has left needs no reply.
        let _ = self.reply.send(reply);
    }
}

#[cfg(test)]
mod tests;
