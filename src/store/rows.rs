//! Rows that have the same form in both databases, turned into values.

use super::{DiskUsage, StoreError, Usage};
use crate::domain::{LinkId, Shard};

/// Batches in the journal, changes in the outbox.
pub(super) fn usage((journal, outbox, bytes): (i64, i64, i64), disk: Option<DiskUsage>) -> Usage {
    let log = disk.map_or(0, |disk| disk.log);
    Usage {
        bytes: bytes.unsigned_abs() + log,
        journal: journal.unsigned_abs(),
        outbox: outbox.unsigned_abs(),
        disk,
    }
}

/// The row that a writing statement returned. To be read with `fetch_all`: with SQLite the other ways of fetching stop
/// at the first row, and a statement is committed, or fails to be, only at its end.
pub(super) fn written<T>(rows: Vec<T>) -> Option<T> {
    rows.into_iter().next()
}

pub(super) fn link_id(number: i64) -> Result<LinkId, StoreError> {
    LinkId::parse(number)
        .ok_or_else(|| StoreError::Unexpected(format!("{number} is no link's number")))
}

/// The number of shards of a Redis Cluster as databases keep it.
pub(super) fn shards(stored: Option<i64>) -> Result<Option<u16>, StoreError> {
    let parse = |stored| {
        let shards = u16::try_from(stored).ok();
        let shards = shards.filter(|shards| (1..=Shard::MAX_COUNT).contains(shards));
        shards.ok_or_else(|| StoreError::Unexpected(format!("{stored} is no number of shards")))
    };
    stored.map(parse).transpose()
}

/// A count as databases keep it.
pub(super) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
