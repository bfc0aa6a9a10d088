//! A link as the cache keeps it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::rules::CachedRules;
use crate::domain::{
    Alias, Click, Clock, LinkId, LinkState, LinkTarget, LinkTime, Location, NotFollowed,
    PasswordMark, PoolId, RedirectOptions, RemovalStatus, Shard, TargetUrl, Timestamp, UserId,
};

/// The part of a link that a redirect needs, ready to be sent. With the counters of its `Arc` it takes one line of the
/// processor's cache, and the pointer to what few links have.
#[derive(Debug, PartialEq, Eq)]
pub struct CachedLink {
    /// Its clicks are counted under this number.
    pub id: LinkId,
    /// The account that made it, whose clicks are summed, too.
    pub owner: UserId,
    /// Its target.
    pub location: Location,
    /// The moment from which it is no longer followed.
    pub end: LinkEnd,
    /// The data set of its clicks: that of its own code.
    pub shard: Shard,
    /// An inactive link is not followed.
    pub is_active: bool,
    /// The status of its answers, if it was removed.
    pub removed: Option<RemovalStatus>,
    /// How it redirects.
    pub options: RedirectOptions,
    /// Whether the database refused a click of it.
    pub used_up: UsedUp,
    /// What few links have.
    pub rare: Option<Box<RareParts>>,
}

/// What few links have, in memory of its own: it takes other links a pointer, and a redirect of them one comparison.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RareParts {
    /// The moment from which the link is followed.
    pub start: Option<Timestamp>,
    /// Where visitors are sent before the start, after the end, and once the clicks are used up.
    pub fallback: Option<Arc<Location>>,
    /// The pool of which each visitor gets the next target.
    pub pool: Option<PoolId>,
    /// Whether the database had no target of the pool left.
    pub pool_empty: UsedUp,
    /// The password that visitors need.
    pub password: Option<PasswordMark>,
    /// Where some visitors are sent instead of to the target.
    pub rules: Option<Arc<CachedRules>>,
    /// The alias by which the link is cached; `None` if that is its own code.
    pub alias: Option<Alias>,
}

impl RareParts {
    /// `None` if the link has none of them.
    pub(super) fn boxed(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }
}

/// Whether the clicks of a link are known to be used up. That stays true for as long as the link is cached: a link that gets
/// more of them has changed.
#[derive(Debug, Default)]
pub struct UsedUp(AtomicBool);

impl UsedUp {
    /// Whether it is known.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Notes that they are. It must have been found out after the link was looked up.
    pub fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What is known of a link's clicks is not part of the link.
impl PartialEq for UsedUp {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for UsedUp {}

/// The moment from which a link is no longer followed: microseconds since 1970, or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkEnd(i64);

impl LinkEnd {
    /// No end.
    pub const NEVER: Self = Self(i64::MAX);

    pub(super) fn at(end: Option<Timestamp>) -> Self {
        end.map_or(Self::NEVER, |end| Self(end.micros()))
    }

    pub(super) fn moment(self) -> Option<Timestamp> {
        (self != Self::NEVER).then(|| Timestamp::from_micros(self.0))?
    }

    /// Whether it has come. The clock is read only for links that have an end.
    #[must_use]
    pub fn has_come(self, clock: &dyn Clock) -> bool {
        self != Self::NEVER && self.0 <= clock.now().micros()
    }
}

impl CachedLink {
    /// A link whose own code has this data set.
    pub(super) fn new(link: &LinkTarget, shard: Shard) -> Self {
        Self {
            id: link.id,
            owner: link.made_by,
            location: link.target.location(),
            end: LinkEnd::at(link.expires_at),
            shard,
            is_active: link.is_active,
            removed: link.removed,
            options: link.options,
            used_up: UsedUp::default(),
            rare: RareParts {
                start: link.starts_at,
                fallback: link
                    .fallback
                    .as_ref()
                    .map(TargetUrl::location)
                    .map(Arc::new),
                pool: link.pool,
                pool_empty: UsedUp::default(),
                password: link.password,
                alias: link.alias.clone(),
                rules: link
                    .rules
                    .as_ref()
                    .map(|rules| Arc::new(CachedRules::new(rules))),
            }
            .boxed(),
        }
    }

    /// Where visitors are sent if the link is not followed for a reason that its owner foresaw.
    #[must_use]
    pub fn fallback(&self) -> Option<&Arc<Location>> {
        self.rare.as_ref()?.fallback.as_ref()
    }

    /// The pool that stands in the place of its target.
    #[must_use]
    pub fn pool(&self) -> Option<PoolId> {
        self.rare.as_ref()?.pool
    }

    /// Whether its pool is known to be empty.
    #[must_use]
    pub fn pool_empty(&self) -> Option<&UsedUp> {
        Some(&self.rare.as_ref()?.pool_empty)
    }

    /// Whether it leads a visitor who has given this password to its target.
    #[must_use]
    pub fn is_open_with(&self, given: Option<PasswordMark>) -> bool {
        let rare = self.rare.as_ref();
        rare.is_none_or(|rare| rare.password.is_none() || rare.password == given)
    }

    /// Its rules, if it has any.
    #[must_use]
    pub fn rules(&self) -> Option<&Arc<CachedRules>> {
        self.rare.as_ref()?.rules.as_ref()
    }

    /// The alias by which it is cached, unless that is its own code.
    #[must_use]
    pub fn alias(&self) -> Option<&Alias> {
        self.rare.as_ref()?.alias.as_ref()
    }

    /// The clock is read only for links that have a start or an end.
    fn time(&self, clock: &dyn Clock) -> LinkTime {
        let rare = self.rare.as_ref();
        let start = rare.and_then(|rare| rare.start);
        if start.is_some_and(|start| clock.now() < start) {
            LinkTime::Before
        } else if self.end.has_come(clock) {
            LinkTime::Over
        } else {
            LinkTime::Within
        }
    }

    /// Whether it is followed now. Only the database knows whether its clicks are used up.
    ///
    /// # Errors
    /// Why it is not.
    pub fn followable(&self, clock: &dyn Clock) -> Result<(), NotFollowed> {
        let state = LinkState {
            is_active: self.is_active,
            time: self.time(clock),
            is_used_up: false,
            removed: self.removed,
        };
        state.followable()
    }

    /// A click of this link.
    #[must_use]
    pub fn click(&self) -> Click {
        Click::new(self.id, self.owner, self.shard)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::ManualClock;

    #[test]
    fn a_link_takes_one_line_of_the_processors_cache_and_a_pointer() {
        let counters = 2 * size_of::<usize>();
        assert_eq!(counters + size_of::<CachedLink>(), 64 + size_of::<usize>());
    }

    #[test]
    fn a_cached_link_is_followed_from_its_start_until_its_end() {
        let moment = |micros| Timestamp::from_micros(micros).unwrap();
        let target = TargetUrl::from_stored("https://example.com/");
        let link = LinkTarget {
            starts_at: Some(moment(5)),
            expires_at: Some(moment(7)),
            ..LinkTarget::of(LinkId::parse(1).unwrap(), UserId(1), target)
        };
        let link = CachedLink::new(&link, Shard::ONLY);
        let clock = ManualClock::at(moment(4));
        let mut followed = Vec::new();
        for _ in 4..=7 {
            followed.push(link.followable(&clock));
            clock.advance(Duration::from_micros(1));
        }
        let expected = [
            Err(NotFollowed::Scheduled),
            Ok(()),
            Ok(()),
            Err(NotFollowed::Expired),
        ];
        assert_eq!(followed, expected);
    }
}
