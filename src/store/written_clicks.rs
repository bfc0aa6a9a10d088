//! Rows of links with the clicks that are written back.

use super::{Position, StoreError, WrittenClicks, rows};

/// What comes before the links after a position by moments, in rising order. No link is older than the epoch.
pub(super) fn just_before(after: Option<Position>) -> (i64, i64) {
    after.map_or((-1, -1), |after| (after.key, after.id.number()))
}

/// Rows of `id`, `created_at` in microseconds, clicks.
pub(super) fn of_rows(rows: Vec<(i64, i64, i64)>) -> Result<Vec<WrittenClicks>, StoreError> {
    let written = |(id, key, clicks)| {
        let id = rows::link_id(id)?;
        let made = Position { key, id };
        Ok(WrittenClicks { made, clicks })
    };
    rows.into_iter().map(written).collect()
}
