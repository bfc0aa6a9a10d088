//! The clicks of a data set that are still in Redis, as a reading of all of them found them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Mutex;

use crate::domain::{Interval, LinkId};
use crate::shared_redis::Term;
use crate::store::{FlushMark, OwnerSnapshot, WrittenBack};

/// The newest reading of a data set, kept for those who wait for it.
pub(super) type NewestReading = Mutex<Option<Arc<UnflushedClicks>>>;

/// The clicks in a data set.
pub(super) struct UnflushedClicks {
    pub(super) began: Instant,
    pub(super) term: Arc<Term>,
    pub(super) newest_flush: i64,
    /// The pending ones, then those of each flush.
    pub(super) parts: Vec<Part>,
}

/// Clicks of one interval by their link.
pub(super) struct Part {
    /// The number of the flush; none for pending clicks.
    pub(super) flush: Option<i64>,
    pub(super) interval: Interval,
    pub(super) clicks: HashMap<LinkId, u64>,
    /// Whether the flush was finished before all of it was read.
    pub(super) is_finished: bool,
}

impl UnflushedClicks {
    pub(super) fn links(&self) -> impl Iterator<Item = LinkId> {
        let numbers = self.parts.iter().flat_map(|part| part.clicks.keys());
        numbers.copied()
    }

    /// Whether the database has the whole of each flush that was finished while it was read.
    pub(super) fn finished_are_in(&self, written: &WrittenBack) -> bool {
        let mut finished = self.parts.iter().filter(|part| part.is_finished);
        let is_whole = |flush| flush == written.flush && matches!(written.up_to, FlushMark::Whole);
        finished.all(|part| {
            part.flush
                .is_some_and(|flush| flush < written.flush || is_whole(flush))
        })
    }

    /// The clicks of an owner's links that the database does not have.
    pub(super) fn of_owner(
        &self,
        written: &WrittenBack,
        found: &OwnerSnapshot,
    ) -> impl Iterator<Item = (LinkId, Interval, u64)> {
        self.parts.iter().flat_map(move |part| {
            part.clicks.iter().filter_map(move |(link, clicks)| {
                let link = Some(*link).filter(|link| found.owned.contains(link))?;
                let is_written = part
                    .flush
                    .is_some_and(|flush| written.includes(flush, link));
                (!is_written).then_some((link, part.interval, *clicks))
            })
        })
    }
}
