//! The contract of the ledger: the data sets of Redis, the term of each, and how far their flushes are written back.

use async_trait::async_trait;

use super::{ClickDetails, StoreError};
use crate::domain::{Interval, LinkId, Timestamp};

/// How long, in microseconds, a data set that another one replaced is drained at first; those that still drain it prolong this.
pub(super) const DRAIN_MICROS: i64 = 5_000_000;

/// How long, in microseconds, the ledger keeps a data set after that.
pub(super) const RETENTION_MICROS: i64 = 7 * 86_400_000_000;

/// A row of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataSet {
    /// What its keys begin with.
    pub tag: String,
    /// Names its lifetime.
    pub epoch: String,
    /// The newest term under which it was taken into use; never the same for two data sets.
    pub term: i64,
    /// The replication ID of the server that the term is for.
    pub replication_id: String,
    /// Its newest flush of which anything is written back; 0 before the first.
    pub flush: i64,
}

/// A group of increments on its way from Redis to the database.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FlushId {
    /// Epoch of the Redis data set that it comes from.
    pub epoch: String,
    /// The term under which it is written back.
    pub term: i64,
    /// Rises by one with every flush of that epoch.
    pub number: i64,
    /// Unique: where the data set went back unnoticed, a number may come again.
    pub name: String,
    /// That in which all of its clicks were recorded.
    pub interval: Interval,
}

/// How far a flush has been written back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushMark {
    /// Nothing more of it may be written back: a later one was started, or its data set is in another term.
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
    pub fn rest_of(self, increments: &[(LinkId, u64)]) -> Option<&[(LinkId, u64)]> {
        match self {
            Self::Superseded | Self::OfAnother | Self::Whole => None,
            Self::Nothing => Some(increments),
            Self::UpTo(last) => {
                Some(&increments[increments.partition_point(|(link, _)| *link <= last)..])
            }
        }
    }
}

/// Why a server gets a term.
#[derive(Clone, Copy, Debug)]
pub struct Raise<'a> {
    /// The data set's keys begin with this.
    pub tag: &'a str,
    /// The newest term of this tag that was read; 0 if there was none.
    pub from: i64,
    /// The new term is above this one, too: that of Redis, which is higher where the database was restored from a backup.
    pub above: i64,
    /// The server's replication ID.
    pub replication_id: &'a str,
}

/// The ledger. Of the data sets with one tag, that with the highest term is in use.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// The data set in use, of every tag.
    async fn data_sets_in_use(&self) -> Result<Vec<DataSet>, StoreError>;

    /// Whether a part of a flush, but not the whole of it, is written back of a data set in use: it is under way, or its data set is
    /// away.
    async fn is_flush_under_way(&self) -> Result<bool, StoreError>;

    /// The data set of an epoch; `None` for one that is not known, or was replaced a week ago.
    async fn data_set(&self, epoch: &str) -> Result<Option<DataSet>, StoreError>;

    /// Gives a data set a new term, higher than all others, and so the place of the one in use. Waits for flushes that are
    /// being written; from then on they are refused under the former term. An epoch that is not known becomes known. `None`,
    /// and nothing changes, where the newest term is another one than was read.
    async fn raise(&self, raise: Raise<'_>, epoch: &str) -> Result<Option<DataSet>, StoreError>;

    /// The same for a data set that begins: its epoch is `epoch_prefix` and its term.
    async fn begin(
        &self,
        raise: Raise<'_>,
        epoch_prefix: &str,
    ) -> Result<Option<DataSet>, StoreError>;

    /// Notes that a data set which was replaced has clicks to write back: [`CountSnapshot::is_draining`] for some seconds.
    ///
    /// [`CountSnapshot::is_draining`]: super::CountSnapshot::is_draining
    async fn keep_draining(&self, epoch: &str) -> Result<(), StoreError>;

    /// Adds one part of a flush to the links and notes in the ledger that the flush is in up to `up_to`, in
    /// one transaction, where the ledger says that it was in up to `from` ([`FlushMark::Nothing`] where it knows neither
    /// the flush nor a later one of its epoch) and that its term is still that of its data set. Otherwise nothing changes:
    /// another instance was faster, or the database crashed and lost what was not durable yet. Returns how far the flush is
    /// in now: `up_to`, or the mark to go on from, or [`FlushMark::Superseded`], or [`FlushMark::OfAnother`].
    ///
    /// `part` has the links above `from` up to `up_to`, in rising order of ids; deleted ones are passed over. `details` are the
    /// classes of these clicks, as far as they are noted. Only the
    /// last part, with [`FlushMark::Whole`], is durable when this returns, and with it all parts before.
    async fn apply_flush(
        &self,
        flush: &FlushId,
        from: FlushMark,
        part: &[(LinkId, u64)],
        details: &ClickDetails,
        up_to: FlushMark,
    ) -> Result<FlushMark, StoreError>;

    /// How far a flush is written back.
    async fn flush_mark(&self, flush: &FlushId) -> Result<FlushMark, StoreError>;

    /// The time by the clock of the database, before a flush begins; `None` while batches are parked, which were answered before and
    /// may come to Redis later.
    async fn moment_before_flush(&self) -> Result<Option<Timestamp>, StoreError>;

    /// Notes such a moment, up to which all clicks that a data set was given are written back, where it is still in this term. After a
    /// crash of the database it may be an earlier one.
    async fn note_written_back(
        &self,
        epoch: &str,
        term: i64,
        up_to: Timestamp,
    ) -> Result<(), StoreError>;

    /// The moment up to which all clicks are written back that Redis was given: the earliest of those of the data sets with
    /// these tags that are in use, or that may still have clicks to write back. It is that of a data set's beginning where no
    /// later one is noted; `None` where there is no such data set.
    async fn written_back_up_to(&self, tags: &[&str]) -> Result<Option<Timestamp>, StoreError>;
}

/// The moment up to which a data set that is replaced now is drained at first, in microseconds.
pub(super) fn drains_until(now: Timestamp) -> i64 {
    now.micros().saturating_add(DRAIN_MICROS)
}
