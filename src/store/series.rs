//! The contract of series: clicks by the quarter of an hour in which they were recorded.

use std::ops::Range;

use async_trait::async_trait;

use super::{CountSnapshot, FlushesSeen, StoreError};
use crate::domain::{Interval, LinkId};

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

/// Reads what the writers of counts keep: a click is added to the sum of its interval in the transaction that counts it.
#[async_trait]
pub trait Series: Send + Sync {
    /// The clicks of a link by interval, of the intervals in `range`: counted ones and those in the journal, without parked
    /// ones. The sum over all intervals is the count. Clicks with which a link was made, and those from before intervals were
    /// noted, are in the interval in which it was made. `flushes` as in [`Clicks::counts`].
    ///
    /// [`Clicks::counts`]: super::Clicks::counts
    async fn series(
        &self,
        link: LinkId,
        range: Range<Interval>,
        flushes: Option<FlushesSeen<'_>>,
    ) -> Result<SeriesSnapshot, StoreError>;
}
