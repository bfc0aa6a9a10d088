//! The road of the redirect, from the path of a request to its 302.
//!
//! | step | cost when warm | with Redis away | with the database away |
//! | --- | --- | --- | --- |
//! | parse the code (before, by whoever reads the request) | a scan of its bytes, no allocation | | |
//! | resolve | one look into the worker's table or the process's cache | the database instead of Redis | Redis; unknown to both: 503 |
//! | record the click | a push under the worker's own lock, then the wait for its batch | journal | as usual; with Redis away, too: memory, see `clicks` |
//! | look again if any link changed meanwhile | one atomic load | | Redis; unknown to both: 503, though the click stays counted |
//! | 302 | the ready `Location` is copied | | |
//!
//! The hot path allocates nothing but the waiter's place in its batch, logs nothing, and touches the
//! database (or its replica, see [`ReplicaReads`]) only for codes that neither the process nor Redis knows.

use std::sync::Arc;
use std::time::Instant;

use crate::cache::{CachedLink, LinkCache, Resolved, Source};
use crate::clicks::{ClickReceipt, Recorder};
use crate::domain::{Click, Location, ShortCode};
use crate::telemetry::redirects::RedirectMetrics;

mod error;
mod lookups;
mod replica;

pub use error::RedirectError;
pub use lookups::Lookups;
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
    /// Every request is counted and timed here, whatever becomes of it.
    pub metrics: RedirectMetrics,
}

/// Where a visitor is sent. Only a counted click leads here: [`ClickReceipt`] is made by the recorder alone.
pub struct Redirected {
    link: Arc<CachedLink>,
    source: Source,
    counted: Counted,
}

/// Why the visitor may be sent on.
enum Counted {
    Click(ClickReceipt),
    /// A `HEAD` is answered like a visit and is none.
    Preview(Instant),
}

impl Redirected {
    fn visited(link: Arc<CachedLink>, source: Source, recorded: ClickReceipt) -> Self {
        Self {
            link,
            source,
            counted: Counted::Click(recorded),
        }
    }

    /// When the visitor could be sent on: the moment of the answer, nearly.
    #[must_use]
    pub fn at(&self) -> Instant {
        match &self.counted {
            Counted::Click(recorded) => recorded.at(),
            Counted::Preview(at) => *at,
        }
    }

    /// The value of the `Location` header.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.link.location
    }
}

/// The link, where there is one and it is active.
fn followable(link: Option<Arc<CachedLink>>) -> Result<Arc<CachedLink>, RedirectError> {
    let link = link.ok_or(RedirectError::Unknown)?;
    if link.is_active {
        Ok(link)
    } else {
        Err(RedirectError::Inactive)
    }
}

impl Redirect {
    /// Follows a code: counts the click and says where it leads.
    ///
    /// # Errors
    /// [`RedirectError`]; nothing is counted then, unless the link changed or went while its click was recorded: the
    /// click of a visit that was not answered with a redirect may stay.
    pub async fn follow(&self, code: &ShortCode) -> Result<Redirected, RedirectError> {
        let begun = Instant::now();
        let followed = self.followed(code, begun).await;
        let answered = followed
            .as_ref()
            .map_or_else(|_| Instant::now(), Redirected::at);
        self.metrics.duration.record(answered.duration_since(begun));
        self.note(&followed);
        followed
    }

    async fn followed(
        &self,
        code: &ShortCode,
        begun: Instant,
    ) -> Result<Redirected, RedirectError> {
        let version = self.cache.version();
        let (link, source) = self.resolve(code, begun).await?;
        let link = followable(link)?;
        let click = link.click();
        let recorded = self.recorder.record(click).await;
        if self.cache.version() == version {
            return Ok(Redirected::visited(link, source, recorded));
        }
        // Some link changed before this click was acknowledged: was it this one?
        let (now, source_now) = self.resolve(code, recorded.at()).await?;
        let became_inactive = |now: &Arc<CachedLink>| !now.is_active && now.click() == click;
        if now.as_ref().is_some_and(became_inactive) {
            // The last visitor before that: counted already, and the count stays.
            return Ok(Redirected::visited(link, source, recorded));
        }
        let now = followable(now)?;
        let recorded = self.recounted(recorded, click, now.click()).await;
        Ok(Redirected::visited(now, source_now, recorded))
    }

    /// Answers as [`Redirect::follow`] would, without counting.
    ///
    /// # Errors
    /// [`RedirectError`].
    pub async fn preview(&self, code: &ShortCode) -> Result<Redirected, RedirectError> {
        let previewed = self.previewed(code).await;
        self.note(&previewed);
        previewed
    }

    async fn previewed(&self, code: &ShortCode) -> Result<Redirected, RedirectError> {
        let now = self.recorder.barrier(self.cache.shard_of(code)).await;
        let (link, source) = self.resolve(code, now).await?;
        Ok(Redirected {
            link: followable(link)?,
            source,
            counted: Counted::Preview(now),
        })
    }

    /// Counts a request by its result.
    fn note(&self, result: &Result<Redirected, RedirectError>) {
        let metrics = &self.metrics;
        let results = match result {
            Ok(found) => match found.source {
                Source::Process => &metrics.process,
                Source::Redis => &metrics.redis,
                Source::Database => &metrics.database,
            },
            Err(RedirectError::Unknown) => &metrics.unknown,
            Err(RedirectError::Inactive) => &metrics.inactive,
            Err(RedirectError::Unavailable(_)) => &metrics.unavailable,
        };
        results.increment(1);
    }

    /// What a code leads to, where anybody has it.
    async fn resolve(&self, code: &ShortCode, now: Instant) -> Result<Resolved, RedirectError> {
        match self.cache.l1(code, now) {
            Some(near) => Ok((Some(near), Source::Process)),
            // Boxed: the future is large and seldom needed; a connection need not pay for its size.
            None => Box::pin(self.recall(code, now)).await,
        }
    }

    /// What the process, Redis or the database knows.
    async fn recall(&self, code: &ShortCode, now: Instant) -> Result<Resolved, RedirectError> {
        if let Some(held) = self.cache.l2(code, now).await {
            return Ok((held, Source::Process));
        }
        let read = |told| self.lookups.read(code, told);
        self.cache.look_up(code, now, read).await
    }

    /// A code that was given to another link meanwhile is a click of that one.
    async fn recounted(&self, recorded: ClickReceipt, counted: Click, now: Click) -> ClickReceipt {
        if counted == now {
            return recorded;
        }
        self.recorder.record(now).await
    }
}
