//! Targets of pools, which the database gives out: visitors of a pool that wait are asked for together, and what was taken for
//! visitors that have left is for the next ones.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::rules::Led;
use super::{Lookups, RedirectError};
use crate::domain::{Clock, Location, PoolId};
use crate::shared_redis::random_id;
use crate::store::{PoolTake, Refusals, Store, StoreError};
use crate::telemetry::throttle::FailureLog;

/// Targets that are taken at once: bounds how long one transaction keeps the pool locked.
const AT_ONCE: usize = 1_000;

/// How long a visitor waits.
const DEADLINE: Duration = Duration::from_secs(2);

/// Pause after an attempt that failed.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// Targets that are kept of visitors that left. Past that a visitor's target is lost.
const MAX_UNUSED: usize = 10_000;

/// The pools of one process.
pub struct Pools {
    store: Store,
    refusals: Refusals,
    clock: Arc<dyn Clock>,
    /// The runtime on which database calls run.
    runtime: Handle,
    /// Names this process in the database, which keeps it as a signed number.
    process: u64,
    /// The number of the newest question.
    number: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: HashMap<PoolId, OpenPool>,
    /// Targets in all of them.
    unused: usize,
}

/// A pool of which visitors wait, or targets are left over.
#[derive(Default)]
struct OpenPool {
    /// Targets of visitors that have left.
    unused: VecDeque<Location>,
    waiting: VecDeque<oneshot::Sender<Next>>,
    is_asking: bool,
}

/// What a visitor gets.
enum Next {
    Target(Taken),
    Empty,
}

/// What the database gave for visitors that wait.
struct Given {
    targets: Vec<Location>,
    /// Whether the pool has no more of them.
    is_all: bool,
}

/// A target that no visitor is sent to yet. If it is dropped, the next visitor of its pool gets it.
pub(super) struct Taken {
    pools: Arc<Pools>,
    pool: PoolId,
    location: Option<Location>,
}

impl Taken {
    /// Where the visitor would be sent.
    pub(super) fn location(&self) -> Option<&Location> {
        self.location.as_ref()
    }

    /// The visitor is sent there.
    pub(super) fn used(mut self) -> Led {
        let location = self.location.take();
        location.map_or_else(Led::default, |location| Led::ByPool(Arc::new(location)))
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some(location) = self.location.take() {
            self.pools.state().keep(self.pool, location);
        }
    }
}

impl State {
    fn keep(&mut self, pool: PoolId, location: Location) {
        if self.unused < MAX_UNUSED {
            let open = self.open.entry(pool).or_default();
            open.unused.push_front(location);
            self.unused += 1;
        }
    }

    fn next_unused(&mut self, pool: PoolId) -> Option<Location> {
        let open = self.open.get_mut(&pool)?;
        let location = open.unused.pop_front()?;
        self.unused -= 1;
        self.close_if_idle(pool);
        Some(location)
    }

    fn next_waiting(&mut self, pool: PoolId) -> Option<oneshot::Sender<Next>> {
        self.open.get_mut(&pool)?.waiting.pop_front()
    }

    fn wait_again(&mut self, pool: PoolId, visitor: oneshot::Sender<Next>) {
        self.open
            .entry(pool)
            .or_default()
            .waiting
            .push_front(visitor);
    }

    fn close_if_idle(&mut self, pool: PoolId) {
        let is_idle =
            |open: &OpenPool| open.unused.is_empty() && open.waiting.is_empty() && !open.is_asking;
        if self.open.get(&pool).is_some_and(is_idle) {
            self.open.remove(&pool);
        }
    }
}

impl Pools {
    /// The pools of this process. They use the database and the runtime of `lookups`.
    #[must_use]
    pub fn new(refusals: Refusals, lookups: &Lookups, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            store: lookups.store.clone(),
            runtime: lookups.runtime.clone(),
            refusals,
            clock,
            process: random_id() >> 1,
            number: AtomicU64::new(0),
            state: Mutex::default(),
        })
    }

    /// The next target of a pool; `None` if it is empty.
    ///
    /// # Errors
    /// [`RedirectError::Unavailable`]: the database does not say so in time.
    pub(super) async fn next(
        self: &Arc<Self>,
        pool: PoolId,
    ) -> Result<Option<Taken>, RedirectError> {
        let (next, told) = oneshot::channel();
        let begins = {
            let mut state = self.state();
            if let Some(location) = state.next_unused(pool) {
                return Ok(Some(self.taken(pool, location)));
            }
            let open = state.open.entry(pool).or_default();
            if open.waiting.len() == open.waiting.capacity() {
                // While the database is away visitors come and go.
                open.waiting.retain(|visitor| !visitor.is_closed());
            }
            open.waiting.push_back(next);
            !std::mem::replace(&mut open.is_asking, true)
        };
        if begins {
            self.runtime.spawn(Arc::clone(self).ask(pool));
        }
        match timeout(DEADLINE, told).await {
            Ok(Ok(Next::Target(taken))) => Ok(Some(taken)),
            Ok(Ok(Next::Empty)) => Ok(None),
            Ok(Err(_)) | Err(_) => {
                let why = "the database did not give a target in time";
                Err(RedirectError::Unavailable(why.into()))
            }
        }
    }

    fn taken(self: &Arc<Self>, pool: PoolId, location: Location) -> Taken {
        Taken {
            pools: Arc::clone(self),
            pool,
            location: Some(location),
        }
    }

    /// Asks for as many targets as visitors wait, until none waits.
    async fn ask(self: Arc<Self>, pool: PoolId) {
        let mut failures = FailureLog::new("giving out targets of pools");
        loop {
            let wanted = {
                let mut state = self.state();
                let Some(open) = state.open.get_mut(&pool) else {
                    return;
                };
                open.waiting.retain(|visitor| !visitor.is_closed());
                if open.waiting.is_empty() {
                    open.is_asking = false;
                    state.close_if_idle(pool);
                    return;
                }
                open.waiting.len().min(AT_ONCE)
            };
            let take = PoolTake {
                pool,
                process: self.process,
                number: self.number.fetch_add(1, Ordering::Relaxed) + 1,
                targets: wanted as u64,
            };
            let targets = self.take(take, &mut failures).await;
            self.hand_out(pool, wanted, targets);
        }
    }

    /// The answer of the database: it is asked again until it says what it gave. `None`: it was not reached.
    async fn take(&self, take: PoolTake, failures: &mut FailureLog) -> Option<Given> {
        let mut was_sent = false;
        loop {
            let taken = self.allowed(take).await;
            failures.note(&taken.as_ref().map(|_| ()));
            match taken {
                Ok(given) => return Some(given),
                // A defect: a repetition would have the same answer.
                Err(StoreError::Unexpected(_)) => return None,
                Err(error) => was_sent |= !matches!(error, StoreError::Unreachable(_)),
            }
            sleep(RETRY_PAUSE).await;
            if !was_sent {
                return None;
            }
        }
    }

    /// What is taken, without the targets that were refused since they were added.
    async fn allowed(&self, take: PoolTake) -> Result<Given, StoreError> {
        let taken = self.store.take_from_pool(take, self.clock.now()).await?;
        let refused = self.refusals.of(&taken.iter().collect::<Vec<_>>()).await?;
        let allowed = taken.iter().zip(refused);
        let allowed = allowed.filter(|(_, is_refused)| !is_refused);
        Ok(Given {
            is_all: (taken.len() as u64) < take.targets,
            targets: allowed.map(|(target, _)| target.location()).collect(),
        })
    }

    /// Gives the first visitors that wait their targets. Where targets were refused, visitors wait for the next ones. `None`: they
    /// learn that there is no answer.
    fn hand_out(self: &Arc<Self>, pool: PoolId, wanted: usize, given: Option<Given>) {
        let is_all = given.as_ref().map(|given| given.is_all);
        let targets = given.map(|given| given.targets);
        let mut targets = targets.unwrap_or_default().into_iter();
        let mut replies = Vec::new();
        let mut state = self.state();
        while replies.len() < wanted {
            let Some(visitor) = state.next_waiting(pool) else {
                break;
            };
            if visitor.is_closed() {
                continue;
            }
            let next = targets.next().or_else(|| state.next_unused(pool));
            match (next, is_all) {
                (Some(location), _) => {
                    replies.push((visitor, Next::Target(self.taken(pool, location))));
                }
                (None, Some(true)) => replies.push((visitor, Next::Empty)),
                (None, Some(false)) => {
                    state.wait_again(pool, visitor);
                    break;
                }
                (None, None) => {}
            }
        }
        for location in targets {
            state.keep(pool, location);
        }
        drop(state);
        for (visitor, next) in replies {
            // The target of a visitor that has left is kept: it is dropped here.
            let _ = visitor.send(next);
        }
    }

    /// Whether there are targets for the next visitors of a pool.
    pub(super) fn has_unused(&self, pool: PoolId) -> bool {
        let state = self.state();
        state
            .open
            .get(&pool)
            .is_some_and(|open| !open.unused.is_empty())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
