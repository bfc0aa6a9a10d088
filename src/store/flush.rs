//! Flushes: what is written back from Redis together, and how far it is.

use super::LinkClicks;
use crate::domain::{Interval, LinkId};

/// A group of increments on its way from Redis to the database.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FlushId {
    /// Epoch of the Redis data set that it comes from.
    pub epoch: String,
    /// The term under which it is written back.
    pub term: i64,
    /// Rises by one with every flush of that epoch.
    pub number: i64,
    /// Unique: if the data set went back unnoticed, a number may come again.
    pub name: String,
    /// The interval in which all of its clicks were recorded.
    pub interval: Interval,
}

/// How far a flush has been written back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushMark {
    /// Nothing more of it may be written back: a later flush was started, or its data set is in another term.
    Superseded,
    /// The ledger has another flush under this number: the data set was rolled back.
    OfAnother,
    /// None of it is in the database yet.
    Nothing,
    /// Links up to and including this one are in the database.
    UpTo(LinkId),
    /// All of it is.
    Whole,
}

impl FlushMark {
    /// Whether the clicks of a link are in the database.
    #[must_use]
    pub fn includes(self, link: LinkId) -> bool {
        match self {
            Self::Superseded | Self::OfAnother | Self::Nothing => false,
            Self::UpTo(last) => link <= last,
            Self::Whole => true,
        }
    }

    /// The increments of a flush, in rising order of links, that are still to be written back; `None` once it is whole
    /// or superseded.
    #[must_use]
    pub fn rest_of(self, increments: &[LinkClicks]) -> Option<&[LinkClicks]> {
        match self {
            Self::Superseded | Self::OfAnother | Self::Whole => None,
            Self::Nothing => Some(increments),
            Self::UpTo(last) => {
                Some(&increments[increments.partition_point(|of_link| of_link.link <= last)..])
            }
        }
    }

    /// The mark as the ledger keeps it. SQL statements contain these numbers, too.
    pub(super) fn stored(self) -> i64 {
        match self {
            Self::OfAnother => -2,
            Self::Superseded => -1,
            Self::Nothing => 0,
            Self::UpTo(link) => link.number(),
            Self::Whole => i64::MAX,
        }
    }

    pub(super) fn from_stored(stored: i64) -> Self {
        match stored {
            -2 => Self::OfAnother,
            ..0 => Self::Superseded,
            0 => Self::Nothing,
            link => LinkId::parse(link).map_or(Self::Whole, Self::UpTo),
        }
    }
}
