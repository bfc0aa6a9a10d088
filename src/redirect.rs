//! The road of the redirect, from the path of a request to its 302.
//!
//! | step | cost when warm | with Redis away | with the database away |
//! | --- | --- | --- | --- |
//! | parse the code | a scan of its bytes, no allocation | | |
//! | resolve | one look into the worker's table or the process's cache | the database instead of Redis | Redis; unknown to both: 503 |
//! | record the click | a push under the worker's own lock, then the wait for its batch | journal | memory, see `clicks` |
//! | look again if any link changed meanwhile | one atomic load | | |
//! | 302 | the ready `Location` is copied | | |
//!
//! The hot path allocates nothing but the waiter's place in its batch, logs nothing, and touches the
//! database (or its replica, see [`ReplicaReads`]) only for codes that neither the process nor Redis knows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use metrics::Counter;

use crate::cache::{CachedLink, LinkCache};
use crate::clicks::{Recorded, Recorder};
use crate::domain::{Click, Location, ShortCode};
use crate::telemetry::road::RedirectMetrics;

mod lookups;
mod replica;
pub mod visit;

pub use lookups::{FailureLog, Lookups};
pub use replica::ReplicaReads;

/// All that the road may touch; one per worker, cheap to clone.
#[derive(Clone)]
pub struct Redirect {
    /// What the process and Redis remember.
    pub cache: LinkCache,
    /// Where clicks are left.
    pub recorder: Arc<Recorder>,
    /// The database, for what nobody remembers.
    pub lookups: Lookups,
    /// Counted and timed here, once per request.
    pub metrics: RedirectMetrics,
}

/// Where a visitor is sent. Only a counted click leads here: [`Recorded`] is made by the recorder alone.
pub struct Found {
    link: Arc<CachedLink>,
    counted: Counted,
}

/// Why the visitor may be sent on.
enum Counted {
    Click(Recorded),
    /// A `HEAD` is answered like a visit and is none.
    Preview(Instant),
}

impl Found {
    /// When the visitor could be sent on: the moment of the answer, nearly.
    #[must_use]
    pub fn at(&self) -> Instant {
        match self.counted {
            Counted::Click(recorded) => recorded.at,
            Counted::Preview(at) => at,
        }
    }

    /// The value of the `Location` header.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.link.location
    }
}

/// Why a visitor is not sent on.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NotFollowed {
    /// No code, an unknown one, or an inactive link.
    #[error("URL not found")]
    NotFound,
    /// Nobody who could be asked knows the code, and the database cannot be asked.
    #[error("the link cannot be looked up: {0}")]
    Unavailable(String),
}

impl Redirect {
    /// Follows a code: counts the click and says where it leads.
    ///
    /// # Errors
    /// [`NotFollowed`]; nothing is counted then.
    pub async fn follow(&self, raw_code: &str) -> Result<Found, NotFollowed> {
        let begun = Instant::now();
        let followed = self.counted(raw_code, begun).await;
        let answered = followed.as_ref().map_or_else(|_| Instant::now(), Found::at);
        self.metrics.duration.record(answered.duration_since(begun));
        followed
    }

    async fn counted(&self, raw_code: &str, begun: Instant) -> Result<Found, NotFollowed> {
        let code = ShortCode::parse(raw_code).ok_or(NotFollowed::NotFound)?;
        let version = self.cache.version();
        let link = self.followable(self.resolve(&code, begun).await?)?;
        let click = link.click();
        let recorded = self.recorder.record(click).await;
        if self.cache.version() == version {
            let counted = Counted::Click(recorded);
            return Ok(Found { link, counted });
        }
        // Some link changed before this click was acknowledged: was it this one?
        let now = match self.resolve(&code, recorded.at).await {
            // Counted already: what was true a moment ago beats an error that would have it counted again.
            Err(NotFollowed::Unavailable(_)) => link,
            // Counted already, and its count stays: the last visitor before it became inactive.
            Ok(Some(now)) if !now.is_active && now.click() == click => link,
            now => self.followable(now?)?,
        };
        let counted = Counted::Click(self.recounted(recorded, click, now.click()).await);
        Ok(Found { link: now, counted })
    }

    /// Answers as [`Redirect::follow`] would, without counting.
    ///
    /// # Errors
    /// [`NotFollowed`].
    pub async fn preview(&self, raw_code: &str) -> Result<Found, NotFollowed> {
        let code = ShortCode::parse(raw_code).ok_or(NotFollowed::NotFound)?;
        let now = self.recorder.barrier(self.cache.shard_of(&code)).await;
        let link = self.followable(self.resolve(&code, now).await?)?;
        let counted = Counted::Preview(now);
        Ok(Found { link, counted })
    }

    /// What a code leads to; `None` where nobody has it.
    async fn resolve(
        &self,
        code: &ShortCode,
        now: Instant,
    ) -> Result<Option<Arc<CachedLink>>, NotFollowed> {
        let (link, found) = match self.cache.near(code, now) {
            Some(near) => (Some(near), &self.metrics.process),
            // A long future, seldom needed: a connection makes no room for it.
            None => Box::pin(self.recall(code, now)).await?,
        };
        if link.as_ref().is_some_and(|link| link.is_active) {
            found.increment(1);
        }
        Ok(link)
    }

    /// The link, where there is one and it is active.
    fn followable(&self, link: Option<Arc<CachedLink>>) -> Result<Arc<CachedLink>, NotFollowed> {
        match link {
            Some(link) if link.is_active => Ok(link),
            Some(_) => {
                self.metrics.inactive.increment(1);
                Err(NotFollowed::NotFound)
            }
            None => {
                self.metrics.unknown.increment(1);
                Err(NotFollowed::NotFound)
            }
        }
    }

    /// What the process, Redis or the database knows, and as what that counts.
    async fn recall(
        &self,
        code: &ShortCode,
        now: Instant,
    ) -> Result<(Option<Arc<CachedLink>>, &Counter), NotFollowed> {
        if let Some(held) = self.cache.held(code, now).await {
            return Ok((held, &self.metrics.process));
        }
        let asked_database = AtomicBool::new(false);
        let read = |told| {
            asked_database.store(true, Ordering::Relaxed);
            self.lookups.read(code, told)
        };
        match self.cache.look_up(code, now, read).await {
            Ok(link) if asked_database.into_inner() => Ok((link, &self.metrics.database)),
            Ok(link) => Ok((link, &self.metrics.redis)),
            Err(error) => {
                self.metrics.unavailable.increment(1);
                Err(error)
            }
        }
    }

    /// A code that was given to another link meanwhile is a click of that one.
    async fn recounted(&self, recorded: Recorded, counted: Click, now: Click) -> Recorded {
        if counted == now {
            return recorded;
        }
        self.recorder.record(now).await
    }
}
