//! The redirect path: from the short code in a request to its 302.
//!
//! | step | cost when warm | with Redis away | with the database away |
//! | --- | --- | --- | --- |
//! | parse the code (before, where the request is read) | a scan of its bytes, no allocation | | |
//! | resolve | one look-up in the worker's table (l1) or the process's cache (l2) | the database instead of Redis | Redis; unknown to both: 503, though the click may stay counted |
//! | record the click, unless any link changed since | a push under the worker's own lock, then the wait for its batch | journal | as usual; with Redis away, too: memory, see `clicks` |
//! | resolve and record again if any link changed | one atomic load | | Redis; unknown to both: 503, though the click may stay counted |
//! | 302 | the ready `Location` is copied | | |
//!
//! A link that has not started, has expired or is used up redirects to its fallback, if it has one: nothing is counted ([`Fallback`]).
//!
//! A link with a password leads only visitors who gave that password to its target ([`LinkPasswords`]); to others it is one comparison
//! more if the link has any of what few links have.
//!
//! Before a link is answered as locked, inactive, scheduled, expired or removed, the process catches up with all changes: a link that was resumed,
//! or whose removal was revoked, is followed at once.
//!
//! If a link forwards queries, the target with the visitor's query is looked up in the blocklist, if that has an entry with a query: one
//! atomic load otherwise, and nothing for other links.
//!
//! Of a link with `max_clicks` the database grants each click (`limited`): with the database away it is answered 503.
//!
//! Of a link with a pool the database gives each visitor the next target (`pooled`): with the database away it is answered 503.
//!
//! Before that, the class of the click is found by the visitor's headers ([`crate::analytics`]), and of a link with rules the first rule
//! that the visitor meets (`rules`).
//!
//! The hot path allocates nothing but an entry of the request in its batch, logs nothing, and asks the database (or its
//! replica, see [`ReplicaReads`]) only for codes that neither the process nor Redis has cached.

use std::sync::Arc;
use std::time::Instant;

use crate::analytics::{Classifier, Visitor};
use crate::cache::{CachedLink, LinkCache, Resolved, Source};
use crate::clicks::{ClicksBeforeLimit, Grants, Recorders, Wanted};
use crate::domain::{
    Clock, CurrentBlocklist, CurrentHosts, Location, NotFollowed, RemovalStatus, ShortCode,
};
use crate::limits::MissLimiter;
use crate::telemetry::redirects::RedirectMetrics;

mod counted;
mod error;
mod limited;
mod lookups;
mod passwords;
mod pooled;
mod pools;
mod redirected;
mod replica;
mod rules;

pub use error::{Fallback, RedirectError};
pub use lookups::Lookups;
pub use passwords::LinkPasswords;
pub use pools::Pools;
pub use redirected::Redirected;
pub use replica::ReplicaReads;
pub use rules::RuleChoice;
use rules::{Led, Turn};

/// The redirect path of a worker; cheap to clone.
#[derive(Clone)]
pub struct Redirect {
    /// The links that the process and Redis have cached.
    pub cache: LinkCache,
    /// Takes the clicks.
    pub recorders: Recorders,
    /// Grants the clicks of links with a limit.
    pub grants: Arc<Grants>,
    /// Gives out the targets of pools.
    pub pools: Arc<Pools>,
    /// Counts the clicks from before such a limit.
    pub before_limit: Arc<ClicksBeforeLimit>,
    /// The database, for links that are not cached.
    pub lookups: Lookups,
    /// Counts and times every request, whatever its result.
    pub metrics: RedirectMetrics,
    /// Says which links have ended.
    pub clock: Arc<dyn Clock>,
    /// Finds the class of each click.
    pub classifier: Classifier,
    /// Finds the rule of a link that a visitor meets.
    pub rules: RuleChoice,
    /// How many unknown codes an address may have looked up.
    pub misses: MissLimiter,
    /// Whether search engines are asked not to list short links.
    pub noindex: bool,
    /// The targets to which no redirect leads, with or without the visitor's query.
    pub blocklist: CurrentBlocklist,
    /// The hosts beside the service's own.
    pub hosts: CurrentHosts,
    /// Where an unknown code of the service's own host leads.
    pub not_found: Option<Arc<Location>>,
}

/// The link, if it exists and may be followed now.
fn followable(
    link: Option<Arc<CachedLink>>,
    clock: &dyn Clock,
) -> Result<Arc<CachedLink>, RedirectError> {
    let link = link.ok_or(RedirectError::Unknown)?;
    match link.followable(clock) {
        Ok(()) => Ok(link),
        Err(why) => Err(RedirectError::of(why, &link)),
    }
}

impl Redirect {
    /// Follows a code: counts the click and returns where it leads.
    ///
    /// A speculative load is answered as [`Redirect::preview`] does, so it is a click of nobody and none of `max_clicks`. As a
    /// bot's click it would be a person's until classes are summed, with `ANALYTICS=off`, and with `Sec-GPC: 1`. The response
    /// may not be stored, so most browsers ask again when the person comes, which is counted. Those that keep what
    /// speculation rules loaded do not: such a visit is missing from the count.
    ///
    /// # Errors
    /// [`RedirectError`]; nothing is counted then, unless the link changed or was deleted while its click was recorded: that
    /// click may stay counted.
    pub async fn follow(
        &self,
        code: &ShortCode,
        visitor: &Visitor<'_>,
    ) -> Result<Redirected, RedirectError> {
        if visitor.is_speculative {
            // Boxed: seldom needed, and every connection would have room for it.
            return Box::pin(self.preview_of(code, visitor, Some(Turn::Seen))).await;
        }
        let start = Instant::now();
        let followed = self.followed(code, start, visitor).await;
        let end = followed
            .as_ref()
            .map_or_else(|_| Instant::now(), Redirected::at);
        self.metrics.duration.record(end.duration_since(start));
        let followed = followed.and_then(|redirected| self.forwarded(redirected, visitor));
        self.answered(code, followed)
    }

    async fn followed(
        &self,
        code: &ShortCode,
        start: Instant,
        visitor: &Visitor<'_>,
    ) -> Result<Redirected, RedirectError> {
        let followed = self.follow_cached(code, start, visitor).await;
        if !matches!(&followed, Err(error) if error.may_be_stale()) {
            return followed;
        }
        // Boxed: seldom needed, and every connection would have room for it.
        let anew = async {
            let now = self.recorders.barrier(self.cache.shard_of(code)).await;
            self.follow_cached(code, now, visitor).await
        };
        Box::pin(anew).await
    }

    /// Follows a code by what this process knows of it.
    async fn follow_cached(
        &self,
        code: &ShortCode,
        start: Instant,
        visitor: &Visitor<'_>,
    ) -> Result<Redirected, RedirectError> {
        let version = self.cache.version();
        let (link, source) = self.resolve(code, start, visitor).await?;
        let link = followable(link, &*self.clock)?;
        self.check_password(code, &link, visitor).await?;
        if link.rules().is_some() {
            // Boxed: seldom needed, and every connection would have room for it.
            return Box::pin(self.follow_rules(code, link, source, version, visitor)).await;
        }
        let led = Led::default();
        self.check_query(&link, &led, visitor)?;
        if link.pool().is_some() {
            return Box::pin(self.pooled(code, visitor)).await;
        }
        if link.options.is_limited {
            return Box::pin(self.granted(code, visitor, led)).await;
        }
        self.counted(code, link, source, version, visitor, led)
            .await
    }

    /// The same of a link with rules.
    async fn follow_rules(
        &self,
        code: &ShortCode,
        link: Arc<CachedLink>,
        source: Source,
        version: u64,
        visitor: &Visitor<'_>,
    ) -> Result<Redirected, RedirectError> {
        let led = self.led(&link, visitor, Turn::Taken);
        let (id, of_turn) = (link.id, led.clone());
        let followed = async {
            self.check_query(&link, &led, visitor)?;
            if led.is_none() && link.pool().is_some() {
                Box::pin(self.pooled(code, visitor)).await
            } else if link.options.is_limited {
                self.granted(code, visitor, led).await
            } else {
                self.counted(code, link, source, version, visitor, led)
                    .await
            }
        };
        let followed = followed.await;
        if followed.is_err() {
            self.rules.give_back(id, &of_turn);
        }
        followed
    }

    /// Where a link leads a visitor.
    fn led(&self, link: &CachedLink, visitor: &Visitor<'_>, turn: Turn) -> Led {
        let (classifier, clock) = (&self.classifier, &*self.clock);
        self.rules.led(link, visitor, classifier, clock, turn)
    }

    /// The same of a link that may have changed since.
    fn led_still(&self, led: Led, link: &CachedLink, visitor: &Visitor<'_>) -> Led {
        let (classifier, clock) = (&self.classifier, &*self.clock);
        self.rules.led_still(led, link, visitor, classifier, clock)
    }

    /// Answers as [`Redirect::follow`] would, without counting, and follows no rule.
    ///
    /// # Errors
    /// [`RedirectError`].
    pub async fn preview(
        &self,
        code: &ShortCode,
        visitor: &Visitor<'_>,
    ) -> Result<Redirected, RedirectError> {
        self.preview_of(code, visitor, None).await
    }

    /// The same, maybe by the rule that the visitor meets.
    async fn preview_of(
        &self,
        code: &ShortCode,
        visitor: &Visitor<'_>,
        turn: Option<Turn>,
    ) -> Result<Redirected, RedirectError> {
        let previewed = self.previewed(code, visitor, turn).await;
        let previewed = previewed.and_then(|redirected| self.forwarded(redirected, visitor));
        self.answered(code, previewed)
    }

    async fn previewed(
        &self,
        code: &ShortCode,
        visitor: &Visitor<'_>,
        turn: Option<Turn>,
    ) -> Result<Redirected, RedirectError> {
        let now = self.recorders.barrier(self.cache.shard_of(code)).await;
        let (link, source) = self.resolve(code, now, visitor).await?;
        let link = followable(link, &*self.clock)?;
        self.check_password(code, &link, visitor).await?;
        let led = turn.map(|turn| self.led(&link, visitor, turn));
        if link.pool().is_some() && led.as_ref().is_none_or(Led::is_none) {
            // None of its targets is for a preview.
            return Err(RedirectError::of(NotFollowed::UsedUp, &link));
        }
        if link.options.is_limited {
            Box::pin(self.ask(code, &link, Wanted::Preview, None)).await?;
        }
        Ok(Redirected::by_preview(link, source, now, led))
    }

    /// Fails if a visitor's query makes the location too long, or turns the target into one that is on the blocklist: the visit
    /// is refused before it is counted.
    fn check_query(
        &self,
        link: &CachedLink,
        led: &Led,
        visitor: &Visitor<'_>,
    ) -> Result<(), RedirectError> {
        let Some(query) = link.options.forwarded(visitor.query) else {
            return Ok(());
        };
        let target = led.location(link);
        target.check_room_for(query)?;
        if self.blocklist.looks_at_queries()
            && let Some(location) = target.with_query(query)?
        {
            self.check_target(target, &location)?;
        }
        Ok(())
    }

    /// Adds the visitor's query if the link wants it. It is checked here, too: the link may have changed since the first check.
    fn forwarded(
        &self,
        redirected: Redirected,
        visitor: &Visitor<'_>,
    ) -> Result<Redirected, RedirectError> {
        let redirected = redirected.with_query(visitor.query)?;
        if let Some(location) = redirected.forwarded() {
            self.check_target(redirected.target(), location)?;
        }
        Ok(redirected)
    }

    /// Fails if a visitor's query leads to a URL of the blocklist, as a link with that target would.
    fn check_target(&self, target: &Location, location: &Location) -> Result<(), RedirectError> {
        let is_blocked = || {
            let list = self.blocklist.get();
            list.blocks_forwarded(target.as_str(), location.as_str())
        };
        if self.blocklist.looks_at_queries() && is_blocked() {
            return Err(RedirectError::Removed(RemovalStatus::Gone));
        }
        Ok(())
    }

    /// Counts a result, and adds where an unknown code leads and what search engines are asked.
    fn answered(
        &self,
        code: &ShortCode,
        result: Result<Redirected, RedirectError>,
    ) -> Result<Redirected, RedirectError> {
        self.note(&result);
        match result {
            Ok(redirected) => Ok(redirected.with_noindex(self.noindex)),
            Err(RedirectError::Unknown) => {
                let hosts = self.hosts.get();
                let not_found = match hosts.get(code.domain()) {
                    Some(host) => host.not_found.as_ref(),
                    None => self.not_found.as_ref().filter(|_| code.domain().is_own()),
                };
                Err(RedirectError::unknown_at(not_found))
            }
            Err(error) => Err(error.with_noindex(self.noindex)),
        }
    }

    /// Counts a request by its result.
    fn note(&self, result: &Result<Redirected, RedirectError>) {
        let metrics = &self.metrics;
        let results = match result {
            Ok(redirected) => match redirected.source() {
                Source::Process => &metrics.process,
                Source::Redis => &metrics.redis,
                Source::Database => &metrics.database,
            },
            Err(RedirectError::Unknown) => &metrics.unknown,
            // No redirect says that a password is wrong: `LinkPasswords` does.
            Err(RedirectError::Locked | RedirectError::WrongPassword) => &metrics.locked,
            Err(RedirectError::Inactive) => &metrics.inactive,
            Err(RedirectError::Scheduled) => &metrics.scheduled,
            Err(RedirectError::Fallback(fallback)) => {
                fallback.count(&metrics.fallbacks);
                &metrics.fallback
            }
            Err(RedirectError::Expired) => &metrics.expired,
            Err(RedirectError::UsedUp) => &metrics.used_up,
            Err(RedirectError::Removed(_)) => &metrics.removed,
            Err(RedirectError::QueryTooLong(_)) => &metrics.too_long,
            Err(RedirectError::TooMany(_)) => &metrics.limited,
            Err(RedirectError::Unavailable(_)) => &metrics.unavailable,
        };
        results.increment(1);
    }

    /// The link of a code, from the nearest place that has it.
    async fn resolve(
        &self,
        code: &ShortCode,
        now: Instant,
        visitor: &Visitor<'_>,
    ) -> Result<Resolved, RedirectError> {
        match self.cache.l1(code, now) {
            Some(cached) => Ok((Some(cached), Source::Process)),
            // Boxed: the future is large and seldom needed, and every connection would have room for it.
            None => Box::pin(self.recall(code, now, visitor)).await,
        }
    }

    /// The link of a code that the worker has not cached: from the process, Redis or the database.
    async fn recall(
        &self,
        code: &ShortCode,
        now: Instant,
        visitor: &Visitor<'_>,
    ) -> Result<Resolved, RedirectError> {
        if let Some(cached) = self.cache.l2(code, now).await {
            return Ok((cached, Source::Process));
        }
        let address = (visitor.address)();
        self.misses.check(&address)?;
        let read = |mark| self.lookups.read(code, mark);
        let found = self.cache.look_up(code, now, read).await?;
        if found.0.is_none() {
            self.misses.count(&address);
        }
        Ok(found)
    }
}
