//! Feeds and their readers.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::domain::{Clock, EventCursor, EventPlace, Principal};
use crate::limits::{AtOnce, ClientShare, Full};
use crate::store::{EventPage, FeedEnd, Store, StoreError};
use crate::telemetry::metrics::{EVENT_READERS, EVENTS_LAG, GaugeGuard};

/// Readers that wait for news on an instance at most: each keeps a connection and some kilobytes.
const MAX_READERS: usize = 4_096;

/// From where on a feed is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedStart {
    /// From the oldest event that is kept.
    Oldest,
    /// Only what happens from now on.
    Now,
    /// After an event.
    After(EventCursor),
}

/// Why a feed is not read.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// It cannot be read from there.
    #[error("the feed does not go on from there")]
    End(FeedEnd),
    /// Too many readers wait.
    #[error(transparent)]
    Full(#[from] Full),
    /// The database did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The feeds of all accounts, as an instance reads them.
pub struct Feeds {
    store: Store,
    clock: Arc<dyn Clock>,
    places: AtOnce,
    news: watch::Sender<Arc<News>>,
    /// When all that had happened was in the feeds.
    caught_up: Mutex<Instant>,
    ended: CancellationToken,
}

/// What the last look showed.
#[derive(Default)]
struct News {
    /// The step that the look before showed.
    since: i64,
    /// The newest step.
    step: i64,
    /// Accounts with events after `since`; `None`: any account may have some.
    owners: Option<HashSet<i64>>,
}

/// One that reads a feed, and waits for news.
pub struct Reader {
    feeds: Arc<Feeds>,
    owner: Principal,
    after: EventPlace,
    news: watch::Receiver<Arc<News>>,
    /// The newest step of which it has learned.
    seen: i64,
    _counted: (ClientShare, GaugeGuard),
}

impl Feeds {
    /// Nobody reads yet; all waiting ends with `ended`.
    #[must_use]
    pub fn new(store: Store, clock: Arc<dyn Clock>, ended: CancellationToken) -> Self {
        Self {
            store,
            clock,
            places: AtOnce::new(MAX_READERS, ["events"; 2]),
            news: watch::Sender::default(),
            caught_up: Mutex::new(Instant::now()),
            ended,
        }
    }

    /// Gives what happened its places in the feeds, and tells the readers that wait. To be called about once a second.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn look(&self) -> Result<(), StoreError> {
        loop {
            let told = self.store.tell_events(self.clock.now()).await;
            self.note_lag(matches!(told, Ok(false)));
            let are_more = told?;
            self.tell_readers().await?;
            if !are_more {
                return Ok(());
            }
        }
    }

    fn note_lag(&self, is_caught_up: bool) {
        let mut caught_up = self
            .caught_up
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if is_caught_up {
            *caught_up = Instant::now();
        }
        metrics::gauge!(EVENTS_LAG).set(caught_up.elapsed().as_secs_f64());
    }

    async fn tell_readers(&self) -> Result<(), StoreError> {
        if self.news.receiver_count() == 0 {
            return Ok(());
        }
        let since = self.news.borrow().step;
        let news = self.store.event_news(since).await?;
        if news.step > since {
            self.news.send_replace(Arc::new(News {
                since,
                step: news.step,
                owners: news.owners.map(HashSet::from_iter),
            }));
        }
        Ok(())
    }

    /// The place from which a feed is read on.
    ///
    /// # Errors
    /// [`FeedError::End`], [`FeedError::Store`].
    pub async fn place(
        &self,
        owner: Principal,
        start: &FeedStart,
    ) -> Result<EventPlace, FeedError> {
        match start {
            FeedStart::Oldest => Ok(EventPlace::BEGIN),
            FeedStart::Now => Ok(self.store.newest_event().await?),
            FeedStart::After(cursor) => {
                let place = self.store.event_place(owner, cursor).await?;
                place.map_err(FeedError::End)
            }
        }
    }

    /// The events after a place, up to `limit` of them. Without events the page goes on from the newest place.
    ///
    /// # Errors
    /// [`FeedError::End`] if events after the place are not kept any more; [`FeedError::Store`].
    pub async fn read(
        &self,
        owner: Principal,
        after: EventPlace,
        limit: usize,
    ) -> Result<EventPage, FeedError> {
        // Before the events: all that it has is read then.
        let newest = self.store.newest_event().await?;
        let mut from = after;
        loop {
            let page = self.store.events_after(owner, from, limit).await?;
            if after != EventPlace::BEGIN && self.store.is_pruned_after(owner, after).await? {
                return Err(FeedError::End(FeedEnd::Pruned));
            }
            if !page.events.is_empty() {
                return Ok(page);
            }
            if page.next == from {
                let next = newest.max(from);
                return Ok(EventPage { next, ..page });
            }
            // Clicks of links that are gone.
            from = page.next;
        }
    }

    /// The cursor of a place.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn cursor(&self, place: EventPlace) -> Result<EventCursor, StoreError> {
        self.store.event_cursor(place).await
    }

    /// Begins to wait at a place for a client at this address.
    ///
    /// # Errors
    /// [`Full`] if too many wait already.
    pub fn reader(
        self: &Arc<Self>,
        owner: Principal,
        after: EventPlace,
        address: &str,
    ) -> Result<Reader, Full> {
        let place = self.places.begin(owner.user, address)?;
        let news = self.news.subscribe();
        let seen = news.borrow().step;
        Ok(Reader {
            feeds: Arc::clone(self),
            owner,
            after,
            news,
            seen,
            _counted: (place, GaugeGuard::new(metrics::gauge!(EVENT_READERS))),
        })
    }
}

impl Reader {
    /// The place after all that was read.
    #[must_use]
    pub fn place(&self) -> EventPlace {
        self.after
    }

    /// The next events, up to `limit` of them; without events at the deadline. `None` if the service ends.
    ///
    /// # Errors
    /// [`FeedError::End`]; [`FeedError::Store`]: the next call tries again.
    pub async fn next(
        &mut self,
        limit: usize,
        deadline: Instant,
    ) -> Result<Option<EventPage>, FeedError> {
        let mut is_over = false;
        loop {
            let page = self.feeds.read(self.owner, self.after, limit).await?;
            self.after = page.next;
            if !page.events.is_empty() || is_over {
                return Ok(Some(page));
            }
            loop {
                let changed = async {
                    tokio::select! {
                        () = self.feeds.ended.cancelled() => None,
                        changed = self.news.changed() => changed.ok(),
                    }
                };
                match timeout_at(deadline, changed).await {
                    // What happened just now is read at the end, too.
                    Err(_) => is_over = true,
                    Ok(None) => return Ok(None),
                    Ok(Some(())) => {}
                }
                if is_over || self.has_news() {
                    break;
                }
            }
        }
    }

    /// Whether the account may have news since the last time.
    fn has_news(&mut self) -> bool {
        let news = Arc::clone(&self.news.borrow_and_update());
        let is_complete = news.since <= self.seen;
        self.seen = news.step;
        let owners = news.owners.as_ref().filter(|_| is_complete);
        owners.is_none_or(|owners| owners.contains(&self.owner.user.0))
    }
}
