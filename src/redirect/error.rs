//! Reasons why a request for a link is not redirected.

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
    /// No cache has the code, and the database cannot be asked.
    #[error("the link cannot be looked up: {0}")]
    Unavailable(String),
}

impl From<StoreError> for RedirectError {
    fn from(error: StoreError) -> Self {
        Self::Unavailable(error.to_string())
    }
}
