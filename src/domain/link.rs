//! A short link and what the redirect needs to know of it.

use serde::Serialize;
use utoipa::ToSchema;

use super::{ShortCode, TargetUrl, Timestamp, UserId};

/// Identifier of a link: the database's own, from 1 up and never used again.
///
/// Clicks are kept by this number, not by code: late clicks of a deleted link can never land on a
/// later link of the same code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(transparent)]
pub struct LinkId(i64);

impl LinkId {
    /// No link has a greater one: a database that makes a million links a second gets there in 2,000 years. The
    /// bits above belong to [`super::Click`].
    pub const LAST: Self = Self((1 << Self::BITS) - 1);

    pub(super) const BITS: u32 = 56;

    /// `None` for a number that no link can have: below 0, or past [`LinkId::LAST`].
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

/// A link as the database keeps it, without its clicks: those are also elsewhere (see `clicks::counts`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Identifier.
    pub id: LinkId,
    /// The code people share.
    pub code: ShortCode,
    /// Where the code leads, exactly as it was given.
    pub target: TargetUrl,
    /// Who made it.
    pub owner: UserId,
    /// An inactive link is not followed.
    pub is_active: bool,
    /// When it was made; with `id` the order of lists.
    pub created_at: Timestamp,
}

/// The part of a link that a redirect needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTarget {
    /// Identifier, under which clicks are counted.
    pub id: LinkId,
    /// Where it leads.
    pub target: TargetUrl,
    /// An inactive link is not followed.
    pub is_active: bool,
}
