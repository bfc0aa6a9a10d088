//! Positions in the sequence of link changes that Redis keeps for each data set.

use std::sync::Arc;
use std::time::Instant;

use crate::domain::Shard;
use crate::shared_redis::Term;

/// The newest change of a data set in Redis at some moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidationCursor {
    /// The data set.
    pub shard: Shard,
    /// Its term. Changes of earlier terms may be missing in it, so each term begins with a change number far above all before.
    pub term: Arc<Term>,
    /// Number of the newest change.
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
