//! The orders that the process keeps, each made anew while it is in use.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::kept::{Kept, KeptOrders, MAX_BYTES};
use super::order::Order;
use crate::domain::{Clock, LinkFilter, Principal, UserId};
use crate::store::{Store, StoreError, WrittenClicks};

/// Links from which on an owner has an order of their own. The database sorts fewer in a few milliseconds.
const MANY: u32 = 10_000;

/// Links that are read at once: a fraction of the deadline of an operation.
const PART: u32 = 50_000;

/// An order is made anew after this time, and after this many times as long as making it took.
const MIN_REBUILD_INTERVAL: Duration = Duration::from_secs(5);
const TIMES_ITS_MAKING: u32 = 20;

/// How much older an order may be that is shown while it is made anew.
const SHOWN_FOR: Duration = Duration::from_mins(1);

/// How long a client waits for an order that is being made.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long an order may wait for others, and be made.
const DEADLINE: Duration = Duration::from_secs(30);

/// Owners whose orders are made or wait for it.
const MAX_WAITING: usize = 16;

/// The orders of owners of many links; cheap to clone.
#[derive(Clone)]
pub struct ClickOrders(Arc<Inner>);

struct Inner {
    store: Store,
    clock: Arc<dyn Clock>,
    /// The runtime on which database calls run.
    runtime: Handle,
    kept: Mutex<KeptOrders>,
    under_way: Mutex<HashMap<UserId, Making>>,
    /// One is made at a time.
    maker: Semaphore,
}

/// An order that is being made, for each client that waits for it.
type Making = Shared<BoxFuture<'static, Option<Arc<Order>>>>;

impl ClickOrders {
    /// Has to be called on the runtime on which database calls run.
    #[must_use]
    pub fn new(store: Store, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Inner {
            store,
            clock,
            runtime: Handle::current(),
            kept: Mutex::default(),
            under_way: Mutex::default(),
            maker: Semaphore::new(1),
        }))
    }

    /// The order of an owner's links, if they are too many to be sorted for each page. `None`: they are few, or too many for an
    /// order.
    ///
    /// # Errors
    /// [`StoreError::Busy`] if it cannot be made in time: sorting so many links for a page would cost the database more.
    pub(super) async fn of(
        &self,
        owner: Principal,
        filter: &LinkFilter,
    ) -> Result<Option<Arc<Order>>, StoreError> {
        let kept = self.kept().get(owner.user, Instant::now());
        // That there is an order says enough of all links, and nothing of those with a tag.
        let is_narrow = filter.tag.is_some() || filter.status.is_some();
        if (is_narrow || kept.is_none()) && !self.0.store.has_links(owner, filter, MANY).await? {
            return Ok(None);
        }
        let now = self.0.clock.now();
        let making = match &kept {
            Some(Kept::TooMany) => return Ok(None),
            Some(Kept::Order(order)) => {
                let remade_after = MIN_REBUILD_INTERVAL.max(order.took * TIMES_ITS_MAKING);
                if order.read_at.after(remade_after) > now {
                    return Ok(Some(Arc::clone(order)));
                }
                let making = self.making(owner.user);
                if order.read_at.after(remade_after + SHOWN_FOR) > now {
                    return Ok(Some(Arc::clone(order)));
                }
                making
            }
            None => self.making(owner.user),
        };
        let making = making.ok_or(StoreError::Busy)?;
        match timeout(PATIENCE, making).await {
            Ok(Some(order)) => Ok(Some(order)),
            Ok(None)
                if matches!(
                    self.kept().get(owner.user, Instant::now()),
                    Some(Kept::TooMany)
                ) =>
            {
                Ok(None)
            }
            Ok(None) | Err(_) => Err(StoreError::Busy),
        }
    }

    /// Makes an owner's order, which continues if the caller leaves; begins it unless it is under way. `None` if too many wait.
    fn making(&self, owner: UserId) -> Option<Making> {
        let mut under_way = self.under_way();
        if let Some(making) = under_way.get(&owner) {
            return Some(making.clone());
        }
        if under_way.len() >= MAX_WAITING {
            return None;
        }
        let this = self.clone();
        let making = self.0.runtime.spawn(async move {
            let made = timeout(DEADLINE, this.make(owner)).await;
            let made = match made {
                Ok(Ok(made)) => {
                    let kept = made.clone().map_or(Kept::TooMany, Kept::Order);
                    this.kept().insert(owner, kept, Instant::now());
                    made
                }
                Ok(Err(error)) => {
                    tracing::warn!(owner = owner.0, %error, "links could not be sorted by clicks");
                    None
                }
                Err(_) => {
                    tracing::warn!(owner = owner.0, "sorting links by clicks takes long");
                    None
                }
            };
            this.under_way().remove(&owner);
            made
        });
        let making = async { making.await.unwrap_or_default() }.boxed().shared();
        under_way.insert(owner, making.clone());
        Some(making)
    }

    /// Reads all links of an owner and puts them in order. `None`: they are too many.
    async fn make(&self, owner: UserId) -> Result<Option<Arc<Order>>, StoreError> {
        let _turn = self.0.maker.acquire().await;
        let read_at = self.0.clock.now();
        let mut links = Vec::new();
        loop {
            let after = links.last().map(|link: &WrittenClicks| link.made);
            let part = self.0.store.clicks_of_links(owner, after, PART).await?;
            let is_last = part.len() < PART as usize;
            links.extend(part);
            if Order::bytes(links.len()) > MAX_BYTES / 4 {
                return Ok(None);
            }
            if is_last {
                break;
            }
        }
        let micros = self.0.clock.now().micros() - read_at.micros();
        let took = Duration::from_micros(micros.try_into().unwrap_or_default());
        let sorted = self
            .0
            .runtime
            .spawn_blocking(move || Order::of(&links, read_at, took));
        let order = sorted
            .await
            .map_err(|failed| StoreError::Unexpected(failed.to_string()))?;
        Ok(Some(Arc::new(order)))
    }

    fn kept(&self) -> MutexGuard<'_, KeptOrders> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<UserId, Making>> {
        self.0
            .under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
