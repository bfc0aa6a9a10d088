//! A short link, and the part of it that a redirect needs.

use serde::Serialize;
use utoipa::ToSchema;

use super::{ShortCode, TargetUrl, Timestamp, UserId};

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
    /// Where the code leads, exactly as it was given.
    pub target: TargetUrl,
    /// The account that created it.
    pub owner: UserId,
    /// An inactive link does not redirect.
    pub is_active: bool,
    /// When it was created; lists are ordered by this and `id`.
    pub created_at: Timestamp,
}

/// The part of a link that a redirect needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTarget {
    /// Identifier, under which clicks are counted.
    pub id: LinkId,
    /// Where it leads.
    pub target: TargetUrl,
    /// An inactive link does not redirect.
    pub is_active: bool,
}
