//! Counts as of one moment, beside the flushes that a reader saw in Redis.

use super::FlushMark;
use crate::domain::LinkId;

/// Counts of links, and the flushes that they contain; all from one snapshot of the database.
#[derive(Clone, Debug, Default)]
pub struct CountSnapshot {
    /// Clicks per existing link: counted ones and those in the journal, without parked ones.
    pub clicks: Vec<(LinkId, u64)>,
    /// How far each requested flush, and every later one of that epoch, is written back; a requested one is left out where
    /// nothing of it is. One before the newest in the ledger is whole: flushes are written back in their order.
    pub flushes: Vec<(i64, FlushMark)>,
    /// Whether the journal holds parked batches; only those of the requested epoch, if there is one.
    pub has_parked: bool,
    /// Whether the reader saw a data set that is not in use any more, or in another term: others may have clicks.
    pub is_superseded: bool,
    /// Whether a data set with the same tag, which was replaced a moment ago, may still have clicks to write back.
    pub is_draining: bool,
}

/// The flushes about which a reader of counts asks.
#[derive(Clone, Debug)]
pub struct FlushesSeen<'a> {
    /// Epoch of the Redis data set that the reader saw.
    pub epoch: &'a str,
    /// The term in which the reader saw it.
    pub term: i64,
    /// Flushes that were under way at that time.
    pub under_way: &'a [i64],
    /// The newest flush that was started by that time.
    pub newest: i64,
}

impl FlushesSeen<'_> {
    /// Of a reader that saw no Redis.
    pub(super) const NONE: Self = Self {
        epoch: "",
        term: 0,
        under_way: &[],
        newest: i64::MAX,
    };
}
