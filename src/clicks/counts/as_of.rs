//! Clicks with the moment up to which they are counted, if they are not exact.

use crate::domain::Timestamp;

/// Clicks, and how new they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AsOf<T> {
    /// The clicks.
    pub value: T,
    /// `None`: they are exact. Otherwise those are counted that were answered up to this moment, and some of the later ones.
    pub as_of: Option<Timestamp>,
}
