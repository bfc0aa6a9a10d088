//! The contract of series: clicks by the quarter of an hour in which they were recorded.

use std::collections::HashSet;
use std::ops::Range;

use async_trait::async_trait;

use super::{CountSnapshot, FlushMark, FlushesSeen, StoreError};
use crate::domain::{Interval, LinkGroup, LinkId, Principal};

/// The series of a link and its count, from one snapshot of the database.
#[derive(Clone, Debug, Default)]
pub struct SeriesSnapshot {
    /// As [`Clicks::counts`] reads it.
    ///
    /// [`Clicks::counts`]: super::Clicks::counts
    pub counts: CountSnapshot,
    /// Clicks by interval, in no order; an interval may come several times, those without clicks do not come.
    pub points: Vec<(Interval, u64)>,
    /// Those of known bots, likewise, as of the newest summing of classes ([`Details::sum_details`]).
    ///
    /// [`Details::sum_details`]: super::Details::sum_details
    pub bots: Vec<(Interval, u64)>,
}

/// Times of 24 hours, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastDays {
    /// The first interval of the first.
    pub from: Interval,
    /// How many they are.
    pub days: u16,
}

impl LastDays {
    /// Intervals of one of them.
    pub(super) const LENGTH: i32 = 96;

    /// So many times of 24 hours, of which the last ends with this interval.
    #[must_use]
    pub fn until(last: Interval, days: u16) -> Self {
        let length = i64::from(Self::LENGTH) * i64::from(days);
        Self {
            from: Interval::from_number(i64::from(last.number()) + 1 - length),
            days,
        }
    }

    /// Which of them an interval is in.
    #[must_use]
    pub fn day_of(self, interval: Interval) -> Option<usize> {
        let after = interval.number().checked_sub(self.from.number())?;
        let day = after.div_euclid(Self::LENGTH);
        usize::try_from(day)
            .ok()
            .filter(|day| *day < usize::from(self.days))
    }

    /// The interval after the last.
    pub(super) fn end(self) -> i32 {
        let length = Self::LENGTH * i32::from(self.days);
        self.from.number().saturating_add(length)
    }
}

/// The counts of links and their clicks by day, from one snapshot of the database.
#[derive(Clone, Debug, Default)]
pub struct DaysSnapshot {
    /// As [`Clicks::counts`] reads them.
    ///
    /// [`Clicks::counts`]: super::Clicks::counts
    pub counts: CountSnapshot,
    /// Clicks of links on days, by number; in no order. A day may come several times.
    pub days: Vec<(LinkId, usize, u64)>,
}

/// Which links of an owner a series is of, and over which intervals.
#[derive(Clone, Debug)]
pub struct OwnerSeries<'a> {
    /// The owner.
    pub owner: Principal,
    /// Only these links.
    pub links: &'a LinkGroup,
    /// The intervals.
    pub range: Range<Interval>,
}

/// The series of an owner's links and the whole ledger, from one snapshot of the database.
#[derive(Clone, Debug, Default)]
pub struct OwnerSnapshot {
    /// Clicks by interval, in no order; an interval may come several times.
    pub points: Vec<(Interval, u64)>,
    /// Those of the links asked about that are the owner's, and wanted.
    pub owned: HashSet<LinkId>,
    /// The data sets of the ledger.
    pub data_sets: Vec<WrittenBack>,
    /// Epochs with parked batches in the journal.
    pub parked_in: HashSet<String>,
}

/// How far a data set is written back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenBack {
    /// Names its lifetime.
    pub epoch: String,
    /// The term under which it is used.
    pub term: i64,
    /// Its newest flush of which anything is written back.
    pub flush: i64,
    /// How far that one is.
    pub up_to: FlushMark,
    /// Whether no other data set of its tag has a newer term.
    pub is_newest: bool,
    /// Whether a data set with the same tag, which was replaced a moment ago, may still have clicks to write back.
    pub is_draining: bool,
}

impl WrittenBack {
    /// Whether the clicks of a link in a flush are in the database: flushes are written back in their order.
    #[must_use]
    pub fn includes(&self, flush: i64, link: LinkId) -> bool {
        flush < self.flush || flush == self.flush && self.up_to.includes(link)
    }
}

/// Reads what the writers of counts keep: a click is added to the sum of its interval in the transaction that counts it.
#[async_trait]
pub trait Series: Send + Sync {
    /// The clicks of a link by interval, of the intervals in `range`: counted ones and those in the journal, without parked
    /// ones. The sum over all intervals is the count. Clicks with which a link was made are in the
    /// interval in which it was made. `flushes` as in [`Clicks::counts`].
    ///
    /// [`Clicks::counts`]: super::Clicks::counts
    async fn series(
        &self,
        link: LinkId,
        range: Range<Interval>,
        flushes: Option<FlushesSeen<'_>>,
    ) -> Result<SeriesSnapshot, StoreError>;

    /// The counts of some links, and their clicks by day, as [`Series::series`] reads them for one link.
    async fn days(
        &self,
        links: &[LinkId],
        days: LastDays,
        flushes: Option<FlushesSeen<'_>>,
    ) -> Result<DaysSnapshot, StoreError>;

    /// The clicks of all links of an owner by interval, as [`Series::series`] reads those of one; and which of the links
    /// `asked` about are among them. No points of an owner whose account is gone or has another key. Of a group
    /// of links the work grows with the links.
    async fn owner_series(
        &self,
        wanted: &OwnerSeries<'_>,
        asked: &[LinkId],
    ) -> Result<OwnerSnapshot, StoreError>;
}
