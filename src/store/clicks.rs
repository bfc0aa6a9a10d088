//! The contract of counted clicks: a journal of batches, the counts they are folded into, and the ledger of flushes.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{LinkId, Timestamp};

/// Who recorded a batch: random and fresh for every recorder at each start.
pub type RecorderId = u64;

/// A batch of clicks, named so that applying it twice can be told from applying two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClickBatch {
    /// Who recorded it.
    pub recorder: RecorderId,
    /// Rises with every batch of this recorder. Batches of one recorder reach a sink in this order,
    /// one at a time; numbers may be left out.
    pub number: u64,
    /// Clicks per link, each link once, by rising id; never empty.
    pub clicks: Vec<(LinkId, u64)>,
}

/// A batch that was sent to Redis and not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParkedBatch {
    /// What was sent.
    pub batch: ClickBatch,
    /// The epoch of the Redis data set that it may be in.
    pub epoch: String,
}

/// A group of increments on its way from Redis to the database.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FlushId {
    /// Of the Redis data set it comes from.
    pub epoch: String,
    /// Rises by one with every flush of that epoch.
    pub number: i64,
}

/// How far a flush has been written back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushMark {
    /// Nothing more of it may be written back: a later one was begun, or it was fenced off.
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

    /// What of a flush, given by rising link, is still to be written back; nothing once it is whole or over.
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

/// How far apart the numbers of flushes are that a data set begins in two lives of its server: far more than are
/// begun in one. Lua writes them out up to 10^14.
pub(super) const FENCED_OFF: i64 = 100_000_000;

/// What the ledger says to whoever comes to a Redis in another life than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fence {
    /// Flushes after the one that Redis knows as its newest are in the database, even in part: Redis is older
    /// than it was.
    Ahead,
    /// No later flush is in the database. Flushes numbered up to `number` that another life began are refused from
    /// now on; this life numbers its flushes above it.
    Below {
        /// The number.
        number: i64,
        /// Whether that holds for the newest flush itself: nothing of it is in the database.
        newest_is_over: bool,
    },
}

/// Counts of links, with what is needed to tell which increments they already contain; all of it from
/// one snapshot of the database.
#[derive(Clone, Debug, Default)]
pub struct CountSnapshot {
    /// Clicks per link that exists: counted ones and those in the journal, without those held back.
    pub clicks: Vec<(LinkId, u64)>,
    /// Of the flushes asked for and of every later one of that epoch: how far each is written back.
    pub flushes: Vec<(i64, FlushMark)>,
    /// Whether the journal holds batches that may also have reached Redis: the epoch that was asked about,
    /// where one was.
    pub has_parked: bool,
}

/// Which flushes a reader of counts wants to know of.
#[derive(Clone, Debug)]
pub struct FlushesSeen<'a> {
    /// Epoch of the Redis data set that the reader saw.
    pub epoch: &'a str,
    /// Flushes that were under way then.
    pub under_way: &'a [i64],
    /// The newest flush that had been begun then.
    pub newest: i64,
}

/// What one step of folding the journal did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Links that were added to.
    pub links: u64,
    /// Clicks added.
    pub clicks: u64,
    /// Whether nothing is left in the journal, or little that came meanwhile.
    pub done: bool,
}

/// Counted clicks: a journal of batches, the counts they are folded into, and the ledger of flushes.
#[async_trait]
pub trait Clicks: Send + Sync {
    /// Writes a batch to the journal, once: a batch whose number is not above the newest of its
    /// recorder is in already, and nothing changes. Durable when it returns `Ok`: it survives
    /// `kill -9` of this process. An error leaves it in doubt; the same batch may be sent again.
    ///
    /// A `held` batch may also have reached Redis, in the epoch that is given: it is not counted, and
    /// stays until [`Clicks::release_parked`].
    async fn append(&self, batch: &ClickBatch, parked_in: Option<&str>) -> Result<(), StoreError>;

    /// Does one short step of moving batches that are not held from the journal into the links, in one
    /// transaction; changes no count. Clicks of links that are gone are dropped.
    async fn compact(&self) -> Result<Compacted, StoreError>;

    /// Up to `limit` batches that are held, by recorder and number, from the first or those `after` one.
    async fn parked(
        &self,
        after: Option<(RecorderId, u64)>,
        limit: u32,
    ) -> Result<Vec<ParkedBatch>, StoreError>;

    /// Removes a held batch: what became of it is known. Unknown ones are fine.
    async fn release_parked(&self, recorder: RecorderId, number: u64) -> Result<(), StoreError>;

    /// Adds one part of a flush to the links and notes in the ledger that the flush is in up to `up_to`, in
    /// one transaction, where the ledger says that it was in up to `from` ([`FlushMark::Nothing`] where it knows neither
    /// the flush nor a later one of its epoch). Otherwise nothing changes: somebody else was at it, or a database
    /// that crashed forgot what it had not written out. Returns how far the flush is in now: `up_to`, or where to
    /// go on from, or [`FlushMark::Superseded`].
    ///
    /// `part` holds the links above `from` up to `up_to`, by rising id; those that are gone are passed over.
    /// Only the last part, with [`FlushMark::Whole`], is durable when this returns, and with it all before.
    async fn apply_flush(
        &self,
        flush: &FlushId,
        from: FlushMark,
        part: &[(LinkId, u64)],
        up_to: FlushMark,
        now: Timestamp,
    ) -> Result<FlushMark, StoreError>;

    /// How far a flush is written back; [`FlushMark::Nothing`] where the ledger knows neither it nor a later one, [`FlushMark::Superseded`]
    /// where it knows a later one alone.
    async fn flush_mark(&self, flush: &FlushId) -> Result<FlushMark, StoreError>;

    /// Fences off what may have been begun after this flush, the newest that a Redis in this `life` knows, in
    /// another one. What is being written meanwhile is waited for.
    async fn fence(&self, newest: &FlushId, life: &str) -> Result<Fence, StoreError>;

    /// Whether a flush is [`FlushMark::Superseded`] because of another life than this one.
    async fn is_superseded_elsewhere(
        &self,
        flush: &FlushId,
        life: &str,
    ) -> Result<bool, StoreError>;

    /// Removes the fence with this number: nobody went by it.
    async fn lift_fence(&self, fence: &FlushId) -> Result<(), StoreError>;

    /// Removes up to `limit` ledger rows of flushes that are whole or over and older than `before`, and marks of
    /// recorders that are a week older still by the database's own clock; the number removed. The newest flush of
    /// an epoch that was written stays: that is how an older Redis is told.
    async fn prune(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError>;

    /// Counts of links (see [`CountSnapshot`]); without `flushes`, of what the database holds alone.
    async fn counts(
        &self,
        links: &[LinkId],
        flushes: Option<FlushesSeen<'_>>,
    ) -> Result<CountSnapshot, StoreError>;
}
