//! Reasons why a request for a link is not redirected to its target.

use std::sync::Arc;

use crate::cache::CachedLink;
use crate::clicks::counts::CountError;
use crate::domain::{Foreseen, Location, LocationTooLong, NotFollowed, RemovalStatus};
use crate::limits::TooMany;
use crate::store::StoreError;
use crate::telemetry::redirects::FallbackMetrics;

/// Why a client is not redirected to the target.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RedirectError {
    /// The code is unknown or malformed.
    #[error("no link has this code")]
    Unknown,
    /// The link is inactive.
    #[error("the link is inactive")]
    Inactive,
    /// The link's time has not come.
    #[error("the link has not started")]
    Scheduled,
    /// The link's time is over.
    #[error("the link has expired")]
    Expired,
    /// The link has redirected as often as it may.
    #[error("the link is used up")]
    UsedUp,
    /// The link is not followed, and the client is redirected to its fallback.
    #[error("the link is not followed, and has a fallback")]
    Fallback(Fallback),
    /// The link needs a password, which the client has not given.
    #[error("the link needs a password")]
    Locked,
    /// The password is not that of the link.
    #[error("the password of the link is wrong")]
    WrongPassword,
    /// The service's administrators took the link away.
    #[error("the link is removed")]
    Removed(RemovalStatus),
    /// There is no room for the visitor's query in the location.
    #[error(transparent)]
    QueryTooLong(#[from] LocationTooLong),
    /// The client's address had too many unknown codes looked up.
    #[error(transparent)]
    TooMany(#[from] TooMany),
    /// No cache has the code and the database cannot be asked, or the database cannot grant a click of it.
    #[error("the link cannot be looked up: {0}")]
    Unavailable(String),
}

/// Where a client is redirected to if a link is not followed. Nothing is counted.
#[derive(Clone, Debug)]
pub struct Fallback {
    location: Arc<Location>,
    /// `None`: the code is unknown.
    why: Option<Foreseen>,
    noindex: bool,
}

impl Fallback {
    /// The value of the `Location` header.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// Whether search engines are asked not to list the short link.
    #[must_use]
    pub fn noindex(&self) -> bool {
        self.noindex
    }

    /// Counts the visit by its reason.
    pub(super) fn count(&self, metrics: &FallbackMetrics) {
        let counter = match self.why {
            Some(Foreseen::Scheduled) => &metrics.scheduled,
            Some(Foreseen::Expired) => &metrics.expired,
            Some(Foreseen::UsedUp) => &metrics.used_up,
            // It is counted as unknown before.
            None => return,
        };
        counter.increment(1);
    }
}

impl RedirectError {
    /// Why a link is not followed, and where its visitors are sent instead.
    pub(super) fn of(why: NotFollowed, link: &CachedLink) -> Self {
        match (link.fallback(), why.foreseen()) {
            (Some(location), Some(why)) => Self::Fallback(Fallback {
                location: Arc::clone(location),
                why: Some(why),
                noindex: link.options.noindex,
            }),
            _ => why.into(),
        }
    }

    /// Where the visitors of an unknown code are sent, if its host says so.
    pub(super) fn unknown_at(location: Option<&Arc<Location>>) -> Self {
        location.map_or(Self::Unknown, |location| {
            Self::Fallback(Fallback {
                location: Arc::clone(location),
                why: None,
                noindex: false,
            })
        })
    }

    /// Whether this process may not know yet that the link may be followed again.
    pub(super) fn may_be_stale(&self) -> bool {
        match self {
            Self::Unknown
            | Self::Inactive
            | Self::Scheduled
            | Self::Expired
            | Self::Locked
            | Self::Removed(_) => true,
            // All changes were known when the database was asked for a click.
            Self::Fallback(fallback) => fallback.why != Some(Foreseen::UsedUp),
            _ => false,
        }
    }

    pub(super) fn with_noindex(self, noindex: bool) -> Self {
        match self {
            Self::Fallback(fallback) => Self::Fallback(Fallback {
                noindex: noindex || fallback.noindex,
                ..fallback
            }),
            error => error,
        }
    }

    /// Whether there is nothing to follow, as opposed to a failure.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        match self {
            Self::Unknown | Self::Inactive | Self::Scheduled | Self::Expired | Self::UsedUp => true,
            Self::Fallback(_)
            | Self::Locked
            | Self::WrongPassword
            | Self::Removed(_)
            | Self::QueryTooLong(_)
            | Self::TooMany(_)
            | Self::Unavailable(_) => false,
        }
    }
}

impl From<NotFollowed> for RedirectError {
    fn from(why: NotFollowed) -> Self {
        match why {
            NotFollowed::Removed(status) => Self::Removed(status),
            NotFollowed::Inactive => Self::Inactive,
            NotFollowed::Scheduled => Self::Scheduled,
            NotFollowed::Expired => Self::Expired,
            NotFollowed::UsedUp => Self::UsedUp,
        }
    }
}

impl From<StoreError> for RedirectError {
    fn from(error: StoreError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

impl From<CountError> for RedirectError {
    fn from(error: CountError) -> Self {
        tracing::debug!(%error, "a click of a link with a limit is not granted");
        Self::Unavailable(error.to_string())
    }
}
