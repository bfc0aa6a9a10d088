//! Clicks that a link got before it had `max_clicks`: the limit takes effect when they are counted.
//!
//! Some of them may still be on their way, in Redis or on an instance that has the link cached as it was. So the change of the
//! link is announced first. From then on every instance that records a click of the link without a grant learns of the
//! change with the acknowledgement, before it answers. It then asks whether the click may be answered: until the clicks are
//! counted it is one of them, afterwards it takes one of those that are left. The latter may leave a counted click without
//! an answer, so the counting begins when all instances should know.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

use crate::cache::LinkCache;
use crate::clicks::MemoryOnly;
use crate::clicks::counts::{CountError, Counts};
use crate::domain::{Click, LinkId};
use crate::shared_redis::random_id;
use crate::store::Store;

/// How long a visitor waits.
const DEADLINE: Duration = Duration::from_secs(2);

/// How long other instances may take to learn of a change, with Redis and without: they ask for changes every quarter of a
/// second, and every half. Clicks that were on their way at this process's own announcement take less.
const LEARNED_WITH_REDIS: Duration = Duration::from_millis(350);
const LEARNED_WITHOUT_REDIS: Duration = Duration::from_millis(700);
const LEARNED_ALONE: Duration = Duration::from_millis(20);

const LATE: &str = "the clicks from before the limit take long to count";

/// How often the counting is repeated that a click without a grant overtakes.
const TRIES: usize = 10;

/// Counts the clicks from before the limits of links.
pub struct ClicksBeforeLimit {
    store: Store,
    counts: Counts,
    cache: LinkCache,
    memory_only: Arc<MemoryOnly>,
    /// The runtime on which database calls run.
    runtime: Handle,
    /// How long to wait from the announcement to the counting.
    learned_after: Duration,
    under_way: Mutex<HashMap<LinkId, Counting>>,
}

/// A counting, for each visitor that waits for it.
type Counting = Shared<BoxFuture<'static, Result<(), String>>>;

impl ClicksBeforeLimit {
    /// Has to be called on the runtime on which database calls run. `is_alone` says whether this process makes all changes.
    #[must_use]
    pub fn new(
        store: Store,
        counts: Counts,
        cache: LinkCache,
        memory_only: Arc<MemoryOnly>,
        is_alone: bool,
    ) -> Arc<Self> {
        let learned_after = match (cache.is_shared(), is_alone) {
            (true, _) => LEARNED_WITH_REDIS,
            (false, true) => LEARNED_ALONE,
            (false, false) => LEARNED_WITHOUT_REDIS,
        };
        Arc::new(Self {
            store,
            counts,
            cache,
            memory_only,
            runtime: Handle::current(),
            learned_after,
            under_way: Mutex::default(),
        })
    }

    /// Counts the clicks from before a link's limit, unless they are counted. Goes on where the caller leaves.
    ///
    /// # Errors
    /// [`CountError`]: the limit does not take effect yet.
    pub async fn count(self: &Arc<Self>, click: Click) -> Result<(), CountError> {
        let counting = {
            let mut under_way = self.under_way();
            let counting = under_way.entry(click.link());
            counting.or_insert_with(|| self.start(click)).clone()
        };
        let counted = timeout(DEADLINE, counting).await;
        let counted = counted.unwrap_or_else(|_| Err(LATE.into()));
        counted.map_err(CountError::Unavailable)
    }

    fn start(self: &Arc<Self>, click: Click) -> Counting {
        let this = Arc::clone(self);
        let counting = self.runtime.spawn(async move {
            let counted = this.count_now(click).await;
            this.under_way().remove(&click.link());
            counted
        });
        let counting = async move {
            let counted = counting.await.map_err(|failed| failed.to_string())?;
            counted.map_err(|error| error.to_string())
        };
        counting.boxed().shared()
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<LinkId, Counting>> {
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a click may be answered that was counted without a grant, because its link got a limit meanwhile.
    ///
    /// # Errors
    /// [`CountError`]: it may not, as it is not known.
    pub async fn admits(self: &Arc<Self>, link: LinkId) -> Result<bool, CountError> {
        if self.memory_only.clicks() > 0 {
            let why =
                "the click may be only in memory, where it is not counted as one before the limit";
            return Err(CountError::Unavailable(why.into()));
        }
        let this = Arc::clone(self);
        let admitting = self
            .runtime
            .spawn(async move { this.store.clicks.admit(link).await });
        match timeout(DEADLINE, admitting).await {
            Ok(Ok(admitted)) => Ok(admitted?),
            Ok(Err(failed)) => Err(CountError::Unavailable(failed.to_string())),
            Err(_) => Err(CountError::Unavailable(LATE.into())),
        }
    }

    async fn count_now(&self, click: Click) -> Result<(), CountError> {
        let link = click.link();
        if self.begin(link).await?.is_none() {
            return Ok(());
        }
        let codes = self.store.codes_of(link).await?;
        let announced = self.cache.invalidate(click.shard(), &codes).await;
        announced.map_err(|error| CountError::Unavailable(error.to_string()))?;
        sleep(self.learned_after).await;
        for _ in 0..TRIES {
            let Some(counting) = self.begin(link).await? else {
                return Ok(());
            };
            let counted = self.counts.begin().of(&[click], true).await?;
            // A link that was deleted meanwhile has none.
            let Some(clicks) = counted.get(&link).copied() else {
                return Ok(());
            };
            if self
                .store
                .clicks
                .set_clicks_before(link, counting, clicks)
                .await?
            {
                return Ok(());
            }
        }
        Err(CountError::Unavailable(
            "clicks without a grant come faster than they can be counted".into(),
        ))
    }

    /// Begins a counting, or joins the one that another instance began; returns its number. `None`: there is nothing to count.
    async fn begin(&self, link: LinkId) -> Result<Option<u64>, CountError> {
        // The databases keep it as a signed number.
        Ok(self
            .store
            .clicks
            .begin_counting(link, random_id() >> 1)
            .await?)
    }
}
