//! Rows that have the same form in both databases, turned into values.

use super::{Change, Credentials, DiskUsage, StoreError, Usage};
use crate::domain::{
    ApiKey, EmailAddress, KeyName, LinkId, Principal, RemovalStatus, Scope, Shard, ShortCode,
    Timestamp, TokenKey, UserId,
};

/// `id`, `token_key`, `email`, `password_hash` of an account.
pub(super) type CredentialsRow = (i64, Vec<u8>, String, String);

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

pub(super) fn credentials(
    (id, key, email, password_hash): CredentialsRow,
) -> Result<Credentials, StoreError> {
    let key = TokenKey::from_bytes(&key)
        .ok_or_else(|| StoreError::Unexpected(format!("account {id} has no token key")))?;
    Ok(Credentials {
        principal: Principal {
            user: UserId(id),
            key,
        },
        email: EmailAddress::from_stored(email),
        password_hash,
    })
}

/// `id`, `name`, `may_write`, `created_at`, `expires_at` in microseconds, `last_used_on` of a key for programs; all of them
/// NULL where an account has none.
pub(super) type NullableApiKeyRow = (
    Option<i64>,
    Option<String>,
    Option<bool>,
    Option<i64>,
    Option<i64>,
    Option<String>,
);

/// The keys of an account; `None` where there is no row, and so no account.
pub(super) fn api_keys(rows: Vec<NullableApiKeyRow>) -> Result<Option<Vec<ApiKey>>, StoreError> {
    if rows.is_empty() {
        return Ok(None);
    }
    let key = |(id, name, may_write, created_at, expires_at, last_used_on): NullableApiKeyRow| {
        let (id, name, created_at) = (id?, name?, created_at?);
        let times = timestamp(created_at)
            .and_then(|created| Ok((created, expires_at.map(timestamp).transpose()?)));
        Some(times.map(|(created_at, expires_at)| ApiKey {
            id,
            name: KeyName::from_stored(name),
            scope: match may_write {
                Some(true) => Scope::Write,
                _ => Scope::Read,
            },
            created_at,
            expires_at,
            last_used_on,
        }))
    };
    let keys: Result<_, _> = rows.into_iter().filter_map(key).collect();
    keys.map(Some)
}

pub(super) fn removal_status(stored: i64) -> Result<RemovalStatus, StoreError> {
    let status = u16::try_from(stored).ok();
    let status = status.and_then(|code| RemovalStatus::parse(code).ok());
    status.ok_or_else(|| StoreError::Unexpected(format!("{stored} is no status of a removal")))
}

pub(super) fn changes(rows: Vec<(i64, String)>) -> Vec<Change> {
    rows.into_iter()
        .map(|(number, stored_code)| Change {
            number,
            code: ShortCode::parse(&stored_code),
        })
        .collect()
}

pub(super) fn timestamp(micros: i64) -> Result<Timestamp, StoreError> {
    Timestamp::from_micros(micros)
        .ok_or_else(|| StoreError::Unexpected(format!("{micros} is no moment in microseconds")))
}

pub(super) fn code(stored: &str) -> Result<ShortCode, StoreError> {
    ShortCode::parse(stored)
        .ok_or_else(|| StoreError::Unexpected(format!("`{stored}` is no short code")))
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
