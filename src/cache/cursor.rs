//! Positions in the sequence of link changes that Redis keeps for each data set.

use std::time::Instant;

use crate::domain::Shard;

/// Where the changes of a data set stood in Redis at some moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidationCursor {
    /// The data set.
    pub shard: Shard,
    /// Epoch of the data set: a new one means that Redis lost data or was rolled back.
    pub epoch: String,
    /// Number of the newest change. A new epoch begins above every number of earlier epochs.
    pub change: i64,
    /// When the question was sent: every earlier change is included.
    pub asked: Instant,
}

/// Which changes of a shard's links had been announced at some moment: all up to a number, which never comes twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeMark {
    /// The shard of these links.
    pub shard: Shard,
    pub(super) change: String,
}
