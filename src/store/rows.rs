//! Rows that have the same form in both databases, turned into values.

use super::{Change, StoreError, UsedKey};
use crate::domain::{LinkId, LinkProperties, RemovalStatus, ShortCode, Tags, Timestamp, Title};

/// `fingerprint`, `link_id`, `short_code`, `used_at` in microseconds of a key of idempotency, and `removed_status` of the link.
pub(super) type UsedKeyRow = (Vec<u8>, i64, String, i64, Option<i64>);

/// The row that a writing statement returned. To be read with `fetch_all`: with SQLite the other ways of fetching stop
/// at the first row, and a statement is committed, or fails to be, only at its end.
pub(super) fn written<T>(rows: Vec<T>) -> Option<T> {
    rows.into_iter().next()
}

pub(super) fn link_id(number: i64) -> Result<LinkId, StoreError> {
    LinkId::parse(number)
        .ok_or_else(|| StoreError::Unexpected(format!("{number} is no link's number")))
}

pub(super) fn removal_status(stored: i64) -> Result<RemovalStatus, StoreError> {
    let status = u16::try_from(stored).ok();
    let status = status.and_then(|code| RemovalStatus::parse(code).ok());
    status.ok_or_else(|| StoreError::Unexpected(format!("{stored} is no status of a removal")))
}

/// A title as databases keep it.
pub(super) fn stored_title(properties: &LinkProperties) -> &str {
    properties.title.as_ref().map_or("", Title::as_str)
}

/// `max_clicks` as databases keep it.
pub(super) fn stored_max(properties: &LinkProperties) -> Option<i64> {
    properties.max_clicks.map(|max| signed(max.number()))
}

pub(super) fn used_key(
    (fingerprint, id, stored_code, used_at, removed): UsedKeyRow,
) -> Result<UsedKey, StoreError> {
    Ok(UsedKey {
        fingerprint,
        id: link_id(id)?,
        code: code(&stored_code)?,
        created_at: timestamp(used_at)?,
        removed: removed.map(removal_status).transpose()?,
    })
}

/// Tags as both databases keep them: a JSON array.
pub(super) fn tags_as_json(tags: &Tags) -> String {
    serde_json::Value::from(tags.as_slice()).to_string()
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

/// A count as databases keep it.
pub(super) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
