//! A short link, and the part of it that a redirect needs.

use std::fmt::{self, Display, Formatter};

use serde::Serialize;
use utoipa::ToSchema;

use super::{
    CustomCode, DomainId, LinkPassword, LinkProperties, LinkState, LinkTime, NotFollowed,
    PasswordMark, PoolId, RemovalStatus, Rules, ShortCode, TargetUrl, Timestamp, UserId,
};

/// Identifier of a link: the database's own, from 1 up and never used again.
///
/// Clicks are kept by this number, not by code: late clicks of a deleted link cannot be counted for another link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(transparent)]
pub struct LinkId(i64);

impl LinkId {
    /// The greatest identifier: at a million links a second a database reaches it in 2,000 years. [`super::Click`] uses
    /// the bits above.
    pub const LAST: Self = Self((1 << Self::BITS) - 1);

    pub(super) const BITS: u32 = 56;

    /// `None` for a number below 0 or past [`LinkId::LAST`].
    #[must_use]
    pub fn parse(number: i64) -> Option<Self> {
        (0..=Self::LAST.0).contains(&number).then_some(Self(number))
    }

    /// The link in a click, whose shard is in the bits above.
    pub(super) fn of_click(bits: i64) -> Self {
        Self(bits & Self::LAST.0)
    }

    /// The number, never negative.
    #[must_use]
    pub fn number(self) -> i64 {
        self.0
    }
}

/// A link as the database keeps it. Its clicks are not only there: see `clicks::counts`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Identifier.
    pub id: LinkId,
    /// The code that people share.
    pub code: ShortCode,
    /// The account or the group that has it.
    pub owner: UserId,
    /// The account that made it, in whose sums its clicks are for ever; it may have been moved to `owner` since.
    pub made_by: UserId,
    /// What its owner set.
    pub properties: LinkProperties,
    /// When it was created; lists are ordered by this and `id`.
    pub created_at: Timestamp,
    /// When its properties were changed last, or it was created.
    pub updated_at: Timestamp,
    /// The status of its answers, if it was removed.
    pub removed: Option<RemovalStatus>,
}

impl Link {
    /// Whether it redirects at this moment, after so many clicks, or why not.
    #[must_use]
    pub fn status(&self, clicks: u64, now: Timestamp) -> LinkStatus {
        let LinkProperties {
            is_active,
            expires_at,
            max_clicks,
            starts_at,
            ..
        } = &self.properties;
        let state = LinkState {
            is_active: *is_active,
            time: LinkTime::at(now, *starts_at, *expires_at),
            is_used_up: max_clicks.is_some_and(|max| max.number() <= clicks),
            removed: self.removed,
        };
        match state.followable() {
            Ok(()) => LinkStatus::Active,
            Err(NotFollowed::Removed(_)) => LinkStatus::Removed,
            Err(NotFollowed::Inactive) => LinkStatus::Inactive,
            Err(NotFollowed::Scheduled) => LinkStatus::Scheduled,
            Err(NotFollowed::Expired) => LinkStatus::Expired,
            Err(NotFollowed::UsedUp) => LinkStatus::UsedUp,
        }
    }
}

/// A code that leads to a link beside the link's own code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// Its clicks are also counted under this number.
    pub id: LinkId,
    /// The link's own code, in whose data set the clicks are counted.
    pub link: ShortCode,
}

/// What an owner asks for.
#[derive(Clone, Debug)]
pub struct LinkRequest {
    /// What the owner sets.
    pub properties: LinkProperties,
    /// The host that the link is for; `None`: the service's own.
    pub domain: Option<String>,
    /// The number of that host, once it is known that its owner may use it: the codes are of that host.
    pub at: DomainId,
    /// The code of the owner's choice; without it, a code is drawn.
    pub custom_code: Option<CustomCode>,
    /// Clicks that another service counted for it.
    pub clicks: u64,
    /// Whether it may have ended already, as a link that was exported.
    pub may_have_ended: bool,
    /// The password that it gets: its hash is among the properties of the link that is made.
    pub new_password: Option<LinkPassword>,
}

/// Whether a link is followed, or why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ToSchema)]
#[schema(as = StatusWord, rename_all = "snake_case")]
pub enum LinkStatus {
    /// It redirects.
    Active,
    /// Its owner paused it.
    Inactive,
    /// It has not started.
    Scheduled,
    /// It has expired.
    Expired,
    /// Its click limit is reached.
    UsedUp,
    /// The service's administrators removed it.
    Removed,
}

impl LinkStatus {
    /// Its word in the API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Inactive => "inactive",
            Self::Scheduled => "scheduled",
            Self::Expired => "expired",
            Self::UsedUp => "used_up",
            Self::Removed => "removed",
        }
    }

    /// The status with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let all = [
            Self::Active,
            Self::Inactive,
            Self::Scheduled,
            Self::Expired,
            Self::UsedUp,
            Self::Removed,
        ];
        all.into_iter().find(|status| status.as_str() == word)
    }
}

/// The part of a link that a redirect needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTarget {
    /// Identifier, under which clicks are counted.
    pub id: LinkId,
    /// The account that made it, in whose sums its clicks are for ever.
    pub made_by: UserId,
    /// Where it leads.
    pub target: TargetUrl,
    /// An inactive link does not redirect. A removed link is inactive, too.
    pub is_active: bool,
    /// The status of its answers, if it was removed.
    pub removed: Option<RemovalStatus>,
    /// The moment from which it no longer redirects.
    pub expires_at: Option<Timestamp>,
    /// How it redirects.
    pub options: RedirectOptions,
    /// The moment from which it redirects.
    pub starts_at: Option<Timestamp>,
    /// Where visitors are sent before its start, after its end, and once its clicks are used up.
    pub fallback: Option<TargetUrl>,
    /// The pool that stands in the place of its target.
    pub pool: Option<PoolId>,
    /// What tells its password from others, if it has one.
    pub password: Option<PasswordMark>,
    /// Where some visitors are sent instead of to the target.
    pub rules: Option<Rules>,
    /// The alias by which it was looked up; `None` if that was its own code.
    pub alias: Option<Alias>,
}

impl LinkTarget {
    /// An active link that has nothing but a target.
    #[must_use]
    pub fn of(id: LinkId, made_by: UserId, target: TargetUrl) -> Self {
        Self {
            id,
            made_by,
            target,
            is_active: true,
            removed: None,
            expires_at: None,
            options: RedirectOptions::default(),
            starts_at: None,
            fallback: None,
            pool: None,
            password: None,
            rules: None,
            alias: None,
        }
    }

    /// Its own code, when it was looked up by this code.
    #[must_use]
    pub fn own_code<'a>(&'a self, asked: &'a ShortCode) -> &'a ShortCode {
        self.alias.as_ref().map_or(asked, |alias| &alias.link)
    }

    /// Whether it redirects at this moment, as far as its time decides.
    #[must_use]
    pub fn time(&self, now: Timestamp) -> LinkTime {
        LinkTime::at(now, self.starts_at, self.expires_at)
    }
}

/// How a link redirects, besides where to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RedirectOptions {
    /// Whether the database grants each click.
    pub is_limited: bool,
    /// Whether a visitor's query is added to that of the target.
    pub forward_query: bool,
    /// Whether search engines are asked not to list the link.
    pub noindex: bool,
}

impl RedirectOptions {
    /// The part of a visitor's query that is added to the target: all of it, or nothing.
    #[must_use]
    pub fn forwarded(self, query: Option<&str>) -> Option<&str> {
        query.filter(|_| self.forward_query)
    }

    /// The options with these letters; `None` for any text that is not written by [`Display`].
    #[must_use]
    pub fn from_letters(mut letters: &str) -> Option<Self> {
        let mut has = |letter: char| {
            let rest = letters.strip_prefix(letter);
            letters = rest.unwrap_or(letters);
            rest.is_some()
        };
        let options = Self {
            is_limited: has('l'),
            forward_query: has('q'),
            noindex: has('n'),
        };
        letters.is_empty().then_some(options)
    }
}

impl Display for RedirectOptions {
    /// A letter for each: `l` (limited), `q` (a visitor's query is added), `n` (search engines are asked not to list it).
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let letters = [
            (self.is_limited, "l"),
            (self.forward_query, "q"),
            (self.noindex, "n"),
        ];
        let mut set = letters.iter().filter(|(is_set, _)| *is_set);
        set.try_for_each(|(_, letter)| formatter.write_str(letter))
    }
}
