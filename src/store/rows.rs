//! Rows that have the same form in both databases, turned into values.

use super::{
    Change, CountSnapshot, Credentials, DataSet, DiskUsage, FlushMark, RecorderId, StoreError,
    ToCount, Usage,
};
use crate::domain::{
    Link, LinkId, LinkTarget, Principal, Shard, ShortCode, TargetUrl, Timestamp, TokenKey, UserId,
};

/// `id`, `short_code`, `target_url`, `is_active`, `created_at` in microseconds, whether batches are parked.
pub(super) type LinkRow = (i64, String, String, bool, i64, bool);

/// `id`, `token_key`, `password_hash` of an account.
pub(super) type CredentialsRow = (i64, Vec<u8>, String);

/// `id`, `target_url`, `is_active`.
pub(super) type TargetRow = (i64, String, bool);

/// `id`, `target_url`, `is_active`, whether batches are parked.
pub(super) type CountedRow = (i64, String, bool, bool);

/// Batches in the journal, changes in the outbox.
pub(super) fn usage((journal, outbox): (i64, i64), disk: Option<DiskUsage>) -> Usage {
    Usage {
        journal: journal.unsigned_abs(),
        outbox: outbox.unsigned_abs(),
        disk,
    }
}

/// `tag`, `epoch`, `term`, `replication_id`, `flush`.
pub(super) type DataSetRow = (String, String, i64, String, i64);

pub(super) fn data_set((tag, epoch, term, replication_id, flush): DataSetRow) -> DataSet {
    DataSet {
        tag,
        epoch,
        term,
        replication_id,
        flush,
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

pub(super) fn target((id, target, is_active): TargetRow) -> Result<LinkTarget, StoreError> {
    Ok(LinkTarget {
        id: link_id(id)?,
        target: TargetUrl::from_stored(&target),
        is_active,
    })
}

pub(super) fn credentials(
    (id, key, password_hash): CredentialsRow,
) -> Result<Credentials, StoreError> {
    let key = TokenKey::from_bytes(&key)
        .ok_or_else(|| StoreError::Unexpected(format!("account {id} has no token key")))?;
    Ok(Credentials {
        principal: Principal {
            user: UserId(id),
            key,
        },
        password_hash,
    })
}

pub(super) fn counted(
    (id, target_url, is_active, has_parked): CountedRow,
) -> Result<ToCount<LinkTarget>, StoreError> {
    Ok(ToCount {
        value: target((id, target_url, is_active))?,
        has_parked,
    })
}

pub(super) fn links(owner: UserId, rows: Vec<LinkRow>) -> Result<ToCount<Vec<Link>>, StoreError> {
    let has_parked = rows.iter().any(|(.., parked)| *parked);
    let value = rows
        .into_iter()
        .map(|(id, stored_code, target, is_active, created_at, _)| {
            Ok(Link {
                id: link_id(id)?,
                code: code(&stored_code)?,
                target: TargetUrl::from_stored(&target),
                owner,
                is_active,
                created_at: timestamp(created_at)?,
            })
        })
        .collect::<Result<_, StoreError>>()?;
    Ok(ToCount { value, has_parked })
}

pub(super) fn changes(rows: Vec<(i64, String)>) -> Vec<Change> {
    rows.into_iter()
        .map(|(number, stored_code)| Change {
            number,
            code: ShortCode::parse(&stored_code),
        })
        .collect()
}

fn timestamp(micros: i64) -> Result<Timestamp, StoreError> {
    Timestamp::from_micros(micros)
        .ok_or_else(|| StoreError::Unexpected(format!("{micros} is no moment in microseconds")))
}

fn code(stored: &str) -> Result<ShortCode, StoreError> {
    ShortCode::parse(stored)
        .ok_or_else(|| StoreError::Unexpected(format!("`{stored}` is no short code")))
}

/// Kinds of rows in which counts are read: a union of statements, so that it is one snapshot.
pub(super) const COUNT_OF_LINK: i32 = 0;
pub(super) const MARK_OF_FLUSH: i32 = 1;
pub(super) const SOMETHING_PARKED: i32 = 2;
pub(super) const SUPERSEDED: i32 = 3;
pub(super) const DRAINING: i32 = 4;

pub(super) fn count_snapshot(rows: Vec<(i32, i64, i64)>) -> Result<CountSnapshot, StoreError> {
    let mut snapshot = CountSnapshot::default();
    for (kind, first, second) in rows {
        match kind {
            COUNT_OF_LINK => snapshot
                .clicks
                .push((link_id(first)?, second.unsigned_abs())),
            MARK_OF_FLUSH => snapshot.flushes.push((first, flush_mark(second))),
            SOMETHING_PARKED => snapshot.has_parked = true,
            SUPERSEDED => snapshot.is_superseded = true,
            DRAINING => snapshot.is_draining = true,
            _ => {}
        }
    }
    Ok(snapshot)
}

/// A mark as the ledger keeps it. SQL statements contain these numbers, too.
pub(super) fn stored_mark(mark: FlushMark) -> i64 {
    match mark {
        FlushMark::Superseded => -1,
        FlushMark::Nothing => 0,
        FlushMark::UpTo(link) => link.number(),
        FlushMark::Whole => i64::MAX,
    }
}

pub(super) fn flush_mark(stored: i64) -> FlushMark {
    match stored {
        ..0 => FlushMark::Superseded,
        0 => FlushMark::Nothing,
        link => LinkId::parse(link).map_or(FlushMark::Whole, FlushMark::UpTo),
    }
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

/// Recorder and number of a batch as databases keep them; `None` comes before every batch.
pub(super) fn batch_key(batch: Option<(RecorderId, u64)>) -> (i64, i64) {
    batch.map_or((i64::MIN, i64::MIN), |(recorder, number)| {
        (recorder.cast_signed(), number.cast_signed())
    })
}

/// A count as databases keep it.
pub(super) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
