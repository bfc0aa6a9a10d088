//! The contract of counted clicks: a journal of batches, and the counts into which it is compacted.

use std::collections::VecDeque;

use async_trait::async_trait;

use super::{
    ClickBatch, ClickDetails, ClickLimits, CountSnapshot, FlushId, FlushMark, FlushesSeen,
    LinkClicks, RecorderId, Series, StoreError,
};
use crate::domain::{LinkId, Timestamp};

/// A batch that was sent to Redis and not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParkedBatch {
    /// The batch as it was sent.
    pub batch: ClickBatch,
    /// The epoch of the Redis data set that it may be in.
    pub epoch: String,
    /// The tag of that data set, where the ledger knows it.
    pub tag: Option<String>,
}

/// What one step of compacting the journal did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Links whose counts rose.
    pub links: u64,
    /// Clicks added.
    pub clicks: u64,
    /// Whether the round is over: clicks that came meanwhile, and clicks of steps that failed, are for the next round.
    pub done: bool,
}

/// How far a round of moving clicks into links is. In SQLite each step stands for itself.
#[derive(Debug, Default)]
pub struct MergeRound {
    /// Bands of links that had parts when the round began, the lowest 100,000, and are not merged yet; `None` before the first step.
    pub(super) bands: Option<VecDeque<i64>>,
}

impl MergeRound {
    /// Whether it is known what the round has to do.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.bands.is_some()
    }
}

/// Counted clicks: a journal of batches, and the counts into which it is compacted, together with
/// limits of links and series.
#[async_trait]
pub trait Clicks: ClickLimits + Series {
    /// Writes a batch to the journal, once: nothing changes where its recorder has written this number or a higher one.
    /// After `Ok` the batch survives `kill -9` of this process. An error leaves it in doubt; the same batch may be sent
    /// again.
    ///
    /// A batch that may also have reached Redis is parked, with the epoch in which it was sent: it is not counted, and
    /// stays until [`Clicks::release_parked`].
    async fn append(&self, batch: &ClickBatch, parked_in: Option<&str>) -> Result<(), StoreError>;

    /// Does one short step of moving clicks into the links, in one transaction: clicks of batches that are not parked,
    /// and in Postgres also clicks of flushes. No count changes. Clicks of deleted links are dropped.
    async fn compact(&self, round: &mut MergeRound) -> Result<Compacted, StoreError>;

    /// What [`Store::apply_flush`] does if the ledger says that the flush is written back up to `from`. `false`: the ledger says
    /// something else, and nothing changes.
    ///
    /// [`Store::apply_flush`]: super::Store::apply_flush
    async fn apply_part(
        &self,
        flush: &FlushId,
        from: FlushMark,
        part: &[LinkClicks],
        details: &ClickDetails,
        up_to: FlushMark,
    ) -> Result<bool, StoreError>;

    /// Up to `limit` parked batches in the order of recorder and number, from the first or from just after `after`.
    async fn parked(
        &self,
        after: Option<(RecorderId, u64)>,
        limit: u32,
    ) -> Result<Vec<ParkedBatch>, StoreError>;

    /// Removes a parked batch, once it is known whether Redis applied it. Unknown batches are passed over.
    async fn release_parked(&self, recorder: RecorderId, number: u64) -> Result<(), StoreError>;

    /// Removes up to `limit` marks of recorders and as many answers to batches that asked for grants: those that newer ones
    /// replace, and those that are a week old, also by the database's own clock. Returns the number of removed rows.
    async fn prune(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError>;

    /// Counts of links; see [`CountSnapshot`]. Without `flushes`, what the database alone knows.
    async fn counts(
        &self,
        links: &[LinkId],
        flushes: Option<FlushesSeen<'_>>,
    ) -> Result<CountSnapshot, StoreError>;
}
