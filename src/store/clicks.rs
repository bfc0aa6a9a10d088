//! The contract of counted clicks: a journal of batches, the counts into which it is compacted, and the ledger of flushes.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{LinkId, Timestamp};

/// Names a recorder: drawn at random for every recorder at each start.
pub type RecorderId = u64;

/// A batch of clicks, numbered so that a repetition is recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClickBatch {
    /// The recorder that gathered it.
    pub recorder: RecorderId,
    /// Rises with every batch of this recorder; numbers may be left out. Batches of one recorder reach a sink in this
    /// order, one at a time.
    pub number: u64,
    /// Clicks per link, each link once, in rising order of ids; never empty.
    pub clicks: Vec<(LinkId, u64)>,
}

/// A batch that was sent to Redis and not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParkedBatch {
    /// The batch as it was sent.
    pub batch: ClickBatch,
    /// The epoch of the Redis data set that it may be in.
    pub epoch: String,
}

/// A group of increments on its way from Redis to the database.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FlushId {
    /// Epoch of the Redis data set that it comes from.
    pub epoch: String,
    /// Rises by one with every flush of that epoch.
    pub number: i64,
}

/// How far a flush has been written back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushMark {
    /// Nothing more of it may be written back: a later one was started, or a fence refuses it.
    Superseded,
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
            Self::Superseded | Self::Nothing => false,
            Self::UpTo(last) => link <= last,
            Self::Whole => true,
        }
    }

    /// The increments of a flush, in rising order of links, that are still to be written back; `None` once it is whole
    /// or superseded.
    #[must_use]
    pub fn rest_of(self, increments: &[(LinkId, u64)]) -> Option<&[(LinkId, u64)]> {
        match self {
            Self::Superseded | Self::Whole => None,
            Self::Nothing => Some(increments),
            Self::UpTo(last) => {
                Some(&increments[increments.partition_point(|(link, _)| *link <= last)..])
            }
        }
    }
}

/// Distance between the numbers of flushes that a data set starts under two replication IDs: far more flushes than are
/// started under one. Lua writes numbers up to 10^14 as integers.
pub(super) const FENCE_GAP: i64 = 100_000_000;

/// What the ledger says about a Redis that has another replication ID than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fence {
    /// Flushes after the newest one that Redis knows are in the database, at least in part: Redis was rolled back.
    Ahead,
    /// No later flush is in the database. From now on flushes up to `number` that were started under another
    /// replication ID are refused; flushes under this one are numbered above it.
    Below {
        /// The number.
        number: i64,
        /// Whether the newest flush itself is refused, too: nothing of it is in the database.
        newest_is_over: bool,
    },
}

/// Counts of links, and the flushes that they contain; all from one snapshot of the database.
#[derive(Clone, Debug, Default)]
pub struct CountSnapshot {
    /// Clicks per existing link: counted ones and those in the journal, without parked ones.
    pub clicks: Vec<(LinkId, u64)>,
    /// How far each requested flush, and every later one of that epoch, is written back.
    pub flushes: Vec<(i64, FlushMark)>,
    /// Whether the journal holds parked batches; only those of the requested epoch, if there is one.
    pub has_parked: bool,
}

/// The flushes about which a reader of counts asks.
#[derive(Clone, Debug)]
pub struct FlushesSeen<'a> {
    /// Epoch of the Redis data set that the reader saw.
    pub epoch: &'a str,
    /// Flushes that were under way at that time.
    pub under_way: &'a [i64],
    /// The newest flush that was started by that time.
    pub newest: i64,
}

/// What one step of compacting the journal did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Links whose counts rose.
    pub links: u64,
    /// Clicks added.
    pub clicks: u64,
    /// Whether the journal is empty, but for a few batches that came meanwhile.
    pub done: bool,
}

/// Counted clicks: a journal of batches, the counts into which it is compacted, and the ledger of flushes.
#[async_trait]
pub trait Clicks: Send + Sync {
    /// Writes a batch to the journal, once: nothing changes where its recorder has written this number or a higher one.
    /// After `Ok` the batch survives `kill -9` of this process. An error leaves it in doubt; the same batch may be sent
    /// again.
    ///
    /// A batch that may also have reached Redis is parked, with the epoch in which it was sent: it is not counted, and
    /// stays until [`Clicks::release_parked`].
    async fn append(&self, batch: &ClickBatch, parked_in: Option<&str>) -> Result<(), StoreError>;

    /// Does one short step of moving batches that are not parked from the journal into the links, in one transaction.
    /// No count changes. Clicks of deleted links are dropped.
    async fn compact(&self) -> Result<Compacted, StoreError>;

    /// Up to `limit` parked batches in the order of recorder and number, from the first or from just after `after`.
    async fn parked(
        &self,
        after: Option<(RecorderId, u64)>,
        limit: u32,
    ) -> Result<Vec<ParkedBatch>, StoreError>;

    /// Removes a parked batch, once it is known whether Redis applied it. Unknown batches are passed over.
    async fn release_parked(&self, recorder: RecorderId, number: u64) -> Result<(), StoreError>;

    /// Adds one part of a flush to the links and notes in the ledger that the flush is in up to `up_to`, in
    /// one transaction, where the ledger says that it was in up to `from` ([`FlushMark::Nothing`] where it knows neither
    /// the flush nor a later one of its epoch). Otherwise nothing changes: another instance was faster, or the database
    /// crashed and lost what was not durable yet. Returns how far the flush is in now: `up_to`, or the mark to go on
    /// from, or [`FlushMark::Superseded`].
    ///
    /// `part` has the links above `from` up to `up_to`, in rising order of ids; deleted ones are passed over. Only the
    /// last part, with [`FlushMark::Whole`], is durable when this returns, and with it all parts before.
    async fn apply_flush(
        &self,
        flush: &FlushId,
        from: FlushMark,
        part: &[(LinkId, u64)],
        up_to: FlushMark,
        now: Timestamp,
    ) -> Result<FlushMark, StoreError>;

    /// How far a flush is written back: [`FlushMark::Nothing`] where the ledger knows neither it nor a later one,
    /// [`FlushMark::Superseded`] where it knows only a later one.
    async fn flush_mark(&self, flush: &FlushId) -> Result<FlushMark, StoreError>;

    /// Writes a fence: refuses flushes after `newest` that were started under other replication IDs than this one.
    /// `newest` is the newest flush that Redis knows. Waits for flushes that are being written.
    async fn fence(&self, newest: &FlushId, replication_id: &str) -> Result<Fence, StoreError>;

    /// Whether a flush is [`FlushMark::Superseded`] because the data set went on under another replication ID.
    async fn is_superseded_elsewhere(
        &self,
        flush: &FlushId,
        replication_id: &str,
    ) -> Result<bool, StoreError>;

    /// Removes a fence that no data set uses.
    async fn lift_fence(&self, fence: &FlushId) -> Result<(), StoreError>;

    /// Removes up to `limit` ledger rows of flushes that are whole or superseded and older than `before`, and as many
    /// marks of recorders: those that newer ones replace, and those that are a week older still, also by the database's own
    /// clock. Returns the number of removed rows.
    /// The newest written flush of each epoch stays: it reveals a Redis that was rolled back.
    async fn prune(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError>;

    /// Counts of links; see [`CountSnapshot`]. Without `flushes`, what the database alone knows.
    async fn counts(
        &self,
        links: &[LinkId],
        flushes: Option<FlushesSeen<'_>>,
    ) -> Result<CountSnapshot, StoreError>;
}
