//! Rows that have the same form in both databases, turned into values.

use super::{Change, LinkMade, StoreError, ToCount, UsedKey};
use crate::domain::{
    Link, LinkId, LinkProperties, LinkTarget, MaxClicks, RemovalStatus, ShortCode, Tags, TargetUrl,
    Timestamp, Title, UserId,
};

/// `id`, `short_code`, `target_url`, `is_active`, `title`, `tags` as a JSON array, `forward_query`, `created_at`,
/// `updated_at` and `expires_at` in microseconds, `max_clicks`, `removed_status`, whether batches are parked.
pub(super) type LinkRow = (
    i64,
    String,
    String,
    bool,
    String,
    String,
    bool,
    i64,
    Option<i64>,
    Option<i64>,
    Option<i64>,
    Option<i64>,
    bool,
);

/// `fingerprint`, `link_id`, `short_code`, `used_at` in microseconds of a key of idempotency, and `removed_status` of the link.
pub(super) type UsedKeyRow = (Vec<u8>, i64, String, i64, Option<i64>);

/// `id`, `target_url`, `is_active`, `expires_at` in microseconds, whether it has `max_clicks`, `forward_query`,
/// `removed_status`.
pub(super) type TargetRow = (i64, String, bool, Option<i64>, bool, bool, Option<i64>);

/// The same, and whether batches are parked.
pub(super) type CountedRow = (
    i64,
    String,
    bool,
    Option<i64>,
    bool,
    bool,
    Option<i64>,
    bool,
);

/// The row that a writing statement returned. To be read with `fetch_all`: with SQLite the other ways of fetching stop
/// at the first row, and a statement is committed, or fails to be, only at its end.
pub(super) fn written<T>(rows: Vec<T>) -> Option<T> {
    rows.into_iter().next()
}

pub(super) fn link_id(number: i64) -> Result<LinkId, StoreError> {
    LinkId::parse(number)
        .ok_or_else(|| StoreError::Unexpected(format!("{number} is no link's number")))
}

pub(super) fn target(
    (id, target, is_active, expires_at, is_limited, forward_query, removed): TargetRow,
) -> Result<LinkTarget, StoreError> {
    Ok(LinkTarget {
        id: link_id(id)?,
        target: TargetUrl::from_stored(&target),
        is_active,
        removed: removed.map(removal_status).transpose()?,
        expires_at: expires_at.map(timestamp).transpose()?,
        is_limited,
        forward_query,
    })
}

pub(super) fn counted(
    (id, target_url, is_active, expires_at, is_limited, forward_query, removed, has_parked): CountedRow,
) -> Result<ToCount<LinkTarget>, StoreError> {
    Ok(ToCount {
        value: target((
            id,
            target_url,
            is_active,
            expires_at,
            is_limited,
            forward_query,
            removed,
        ))?,
        has_parked,
    })
}

pub(super) fn links(owner: UserId, rows: Vec<LinkRow>) -> Result<ToCount<Vec<Link>>, StoreError> {
    let has_parked = rows.iter().any(|(.., parked)| *parked);
    let value = rows.into_iter().map(|row| link(owner, row));
    Ok(ToCount {
        value: value.collect::<Result<_, StoreError>>()?,
        has_parked,
    })
}

pub(super) fn link_to_count(owner: UserId, row: LinkRow) -> Result<ToCount<Link>, StoreError> {
    let (.., has_parked) = row;
    Ok(ToCount {
        value: link(owner, row)?,
        has_parked,
    })
}

fn link(
    owner: UserId,
    (
        id,
        stored_code,
        target,
        is_active,
        title,
        tags,
        forward_query,
        created_at,
        updated_at,
        expires_at,
        max_clicks,
        removed,
        _,
    ): LinkRow,
) -> Result<Link, StoreError> {
    let created_at = timestamp(created_at)?;
    Ok(Link {
        id: link_id(id)?,
        code: code(&stored_code)?,
        owner,
        properties: LinkProperties {
            target: TargetUrl::from_stored(&target),
            is_active,
            title: Title::from_stored(&title),
            tags: Tags::from_stored(stored_tags(&tags)?),
            expires_at: expires_at.map(timestamp).transpose()?,
            max_clicks: max_clicks.map(max).transpose()?,
            forward_query,
        },
        created_at,
        updated_at: updated_at.map_or(Ok(created_at), timestamp)?,
        removed: removed.map(removal_status).transpose()?,
    })
}

/// `created_at` in microseconds, `max_clicks`.
pub(super) fn link_made((at, max_clicks): (i64, Option<i64>)) -> Result<LinkMade, StoreError> {
    Ok(LinkMade {
        at: timestamp(at)?,
        max_clicks: max_clicks.map(max).transpose()?,
    })
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

fn max(stored: i64) -> Result<MaxClicks, StoreError> {
    MaxClicks::parse(stored.unsigned_abs())
        .map_err(|_| StoreError::Unexpected(format!("{stored} is no number of redirects")))
}

fn stored_tags(json: &str) -> Result<Vec<String>, StoreError> {
    // Most links have none.
    if json == "[]" {
        return Ok(Vec::new());
    }
    serde_json::from_str(json)
        .map_err(|error| StoreError::Unexpected(format!("`{json}` are no tags: {error}")))
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
