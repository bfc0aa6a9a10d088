//! Reasons why a request for a link is not redirected.

use crate::clicks::counts::CountError;
use crate::domain::{LocationTooLong, NotFollowed, RemovalStatus};
use crate::limits::TooMany;
use crate::store::StoreError;

/// Why a client is not redirected.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RedirectError {
    /// The code is unknown or malformed.
    #[error("no link has this code")]
    Unknown,
    /// The link is inactive.
    #[error("the link is inactive")]
    Inactive,
    /// The link's time is over.
    #[error("the link has expired")]
    Expired,
    /// The link has redirected as often as it may.
    #[error("the link is used up")]
    UsedUp,
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

impl RedirectError {
    /// Whether this process may not know yet that the link may be followed again.
    pub(super) fn may_be_stale(&self) -> bool {
        matches!(self, Self::Inactive | Self::Expired | Self::Removed(_))
    }

    /// Whether there is nothing to follow, as opposed to a failure.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        match self {
            Self::Unknown | Self::Inactive | Self::Expired | Self::UsedUp => true,
            Self::Removed(_) | Self::QueryTooLong(_) | Self::TooMany(_) | Self::Unavailable(_) => {
                false
            }
        }
    }
}

impl From<NotFollowed> for RedirectError {
    fn from(why: NotFollowed) -> Self {
        match why {
            NotFollowed::Removed(status) => Self::Removed(status),
            NotFollowed::Inactive => Self::Inactive,
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
