//! The live click count of a link: one look-up a second for each link that is watched, however many clients watch it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex as StdMutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{LinkError, LinkService};
use crate::domain::{Principal, ShortCode};
use crate::limits::{AtOnce, ClientShare};
use crate::telemetry::metrics::{GaugeGuard, LIVE_LISTENERS};

/// Listeners of an instance at most: each keeps a connection and some kilobytes.
const MAX_LISTENERS: usize = 4_096;

/// Pause between two looks at a count.
const PAUSE: Duration = Duration::from_secs(1);

/// How old a count may be that another listener has read: a little less than the pause, so that listeners that wake one after
/// the other share one look-up.
const FRESH: Duration = Duration::from_millis(900);

const MINUTE: Duration = Duration::from_mins(1);

/// What a listener learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveCount {
    /// Exact number of answered redirects.
    pub clicks: u64,
    /// Clicks of the last minute, or of the shorter time since this instance began to watch the link.
    pub last_minute: u64,
}

/// The links that are watched.
pub struct LiveCounts {
    links: Arc<LinkService>,
    watched: StdMutex<WatchedLinks>,
    places: AtOnce,
    ended: CancellationToken,
}

/// The links that are watched, for each owner: the look-up asks for the owner's link.
type WatchedLinks = HashMap<(Principal, ShortCode), Weak<Mutex<Watched>>>;

/// A link that is watched, for as long as anybody does.
struct Watched {
    /// Counts of the last two minutes, with the moments at which they were read.
    counts: VecDeque<(Instant, u64)>,
}

/// One that watches a link.
pub struct Listener {
    live: Arc<LiveCounts>,
    owner: Principal,
    code: ShortCode,
    watched: Arc<Mutex<Watched>>,
    next: Instant,
    _counted: (ClientShare, GaugeGuard),
}

impl LiveCounts {
    /// Watches nothing yet; all listening ends with `ended`.
    #[must_use]
    pub fn new(links: Arc<LinkService>, ended: CancellationToken) -> Self {
        Self {
            links,
            watched: StdMutex::default(),
            places: AtOnce::new(MAX_LISTENERS, ["live"; 2]),
            ended,
        }
    }

    /// Begins to watch a link of this owner for a client at this address; `None` if there is no such link.
    ///
    /// # Errors
    /// [`LinkError::Full`] where too many listen already; [`LinkError::Count`], [`LinkError::Store`].
    pub async fn listen(
        self: &Arc<Self>,
        owner: Principal,
        code: &ShortCode,
        address: &str,
    ) -> Result<Option<Listener>, LinkError> {
        let place = self.places.begin(owner.user, address)?;
        let listener = Listener {
            live: Arc::clone(self),
            owner,
            code: code.clone(),
            watched: self.watched(owner, code),
            next: Instant::now(),
            _counted: (place, GaugeGuard::new(metrics::gauge!(LIVE_LISTENERS))),
        };
        Ok(listener.read().await?.map(|_| listener))
    }

    fn watched(&self, owner: Principal, code: &ShortCode) -> Arc<Mutex<Watched>> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(link) = watched.get(&(owner, code.clone())).and_then(Weak::upgrade) {
            return link;
        }
        // No more are left over than there are listeners.
        watched.retain(|_, link| link.strong_count() > 0);
        let link = Arc::new(Mutex::new(Watched {
            counts: VecDeque::new(),
        }));
        watched.insert((owner, code.clone()), Arc::downgrade(&link));
        link
    }
}

impl Listener {
    /// The count after the pause; `None` where the link is gone, the owner's token has ended by a change of the account, or the
    /// service ends. Also an unchanged count is returned.
    ///
    /// # Errors
    /// [`LinkError::Count`], [`LinkError::Store`]: the next call tries again.
    pub async fn next(&mut self) -> Result<Option<LiveCount>, LinkError> {
        tokio::select! {
            () = self.live.ended.cancelled() => return Ok(None),
            () = sleep_until(self.next) => {}
        }
        self.next = Instant::now() + PAUSE;
        tokio::select! {
            () = self.live.ended.cancelled() => Ok(None),
            read = self.read() => read,
        }
    }

    async fn read(&self) -> Result<Option<LiveCount>, LinkError> {
        let mut watched = self.watched.lock().await;
        if let Some(count) = watched.newest(Instant::now()) {
            return Ok(Some(count));
        }
        let clicks = self.live.links.exact_clicks(self.owner, &self.code).await?;
        Ok(clicks.map(|clicks| watched.add(Instant::now(), clicks)))
    }
}

impl Watched {
    /// The newest count, if it is fresh.
    fn newest(&self, now: Instant) -> Option<LiveCount> {
        let (at, clicks) = *self.counts.back()?;
        (now.duration_since(at) < FRESH).then(|| self.with_minute(clicks))
    }

    fn add(&mut self, now: Instant, clicks: u64) -> LiveCount {
        self.counts.push_back((now, clicks));
        // The first count that stays is the count of a minute ago.
        while let Some((second, _)) = self.counts.get(1)
            && now.duration_since(*second) >= MINUTE
        {
            self.counts.pop_front();
        }
        self.with_minute(clicks)
    }

    fn with_minute(&self, clicks: u64) -> LiveCount {
        let before = self.counts.front().map_or(clicks, |(_, before)| *before);
        LiveCount {
            clicks,
            last_minute: clicks.saturating_sub(before),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_minute_is_the_difference_to_the_count_of_a_minute_ago() {
        let start = Instant::now();
        let mut watched = Watched {
            counts: VecDeque::new(),
        };
        for second in 0..200 {
            let now = start + Duration::from_secs(second);
            let count = watched.add(now, 10 * second);
            let expected = LiveCount {
                clicks: 10 * second,
                last_minute: 10 * second.min(60),
            };
            assert_eq!(count, expected);
            assert_eq!(watched.newest(now), Some(expected));
            assert_eq!(watched.newest(now + PAUSE), None);
        }
        assert!(watched.counts.len() <= 61);
    }
}
