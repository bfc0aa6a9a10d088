//! Rows of clicks, which have the same form in both databases, turned into values.

use super::rows::link_id;
use super::{
    ClickDetails, CountSnapshot, DaysSnapshot, FlushMark, RecorderId, SeriesSnapshot, StoreError,
};
use crate::domain::Interval;

/// Kinds of rows in which counts are read: a union of statements, so that it is one snapshot.
pub(super) const COUNT_OF_LINK: i32 = 0;
pub(super) const MARK_OF_FLUSH: i32 = 1;
pub(super) const SOMETHING_PARKED: i32 = 2;
pub(super) const SUPERSEDED: i32 = 3;
pub(super) const DRAINING: i32 = 4;
pub(super) const POINT_OF_SERIES: i32 = 5;
pub(super) const BOTS_OF_SERIES: i32 = 6;
/// This one and those after it are days.
pub(super) const FIRST_DAY: i32 = 10;

pub(super) fn count_snapshot(rows: Vec<(i32, i64, i64)>) -> Result<CountSnapshot, StoreError> {
    let mut snapshot = CountSnapshot::default();
    for (kind, first, second) in rows {
        match kind {
            COUNT_OF_LINK => snapshot
                .clicks
                .push((link_id(first)?, second.unsigned_abs())),
            MARK_OF_FLUSH => snapshot
                .flushes
                .push((first, FlushMark::from_stored(second))),
            SOMETHING_PARKED => snapshot.has_parked = true,
            SUPERSEDED => snapshot.is_superseded = true,
            DRAINING => snapshot.is_draining = true,
            _ => {}
        }
    }
    Ok(snapshot)
}

/// The same with the points of a link's series.
pub(super) fn series_snapshot(rows: Vec<(i32, i64, i64)>) -> Result<SeriesSnapshot, StoreError> {
    let (points, rows): (Vec<_>, Vec<_>) = rows
        .into_iter()
        .partition(|(kind, ..)| matches!(*kind, POINT_OF_SERIES | BOTS_OF_SERIES));
    let (bots, points): (Vec<_>, Vec<_>) = points
        .into_iter()
        .partition(|(kind, ..)| *kind == BOTS_OF_SERIES);
    let point = |(_, interval, clicks): (i32, i64, i64)| {
        (Interval::from_number(interval), clicks.unsigned_abs())
    };
    Ok(SeriesSnapshot {
        counts: count_snapshot(rows)?,
        points: points.into_iter().map(point).collect(),
        bots: bots.into_iter().map(point).collect(),
    })
}

/// The counts of links with their clicks by day.
pub(super) fn days_snapshot(rows: Vec<(i32, i64, i64)>) -> Result<DaysSnapshot, StoreError> {
    let (days, rows): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|(kind, ..)| *kind >= FIRST_DAY);
    let day = |(kind, link, clicks): (i32, i64, i64)| {
        let day = usize::try_from(kind - FIRST_DAY).unwrap_or_default();
        Ok((link_id(link)?, day, clicks.unsigned_abs()))
    };
    Ok(DaysSnapshot {
        counts: count_snapshot(rows)?,
        days: days
            .into_iter()
            .map(day)
            .collect::<Result<_, StoreError>>()?,
    })
}

/// Classes of clicks as databases keep them; `None` where there are none.
pub(super) fn packed(details: &ClickDetails) -> Option<Vec<u8>> {
    (!details.is_empty()).then(|| details.packed())
}

/// The classes in a batch. Those that cannot be read are not known: the clicks are.
pub(super) fn details(packed: Option<Vec<u8>>) -> ClickDetails {
    let parsed = packed.and_then(|packed| ClickDetails::parse(&packed));
    parsed.unwrap_or_default()
}

/// Recorder and number of a batch as databases keep them; `None` comes before every batch.
pub(super) fn batch_key(batch: Option<(RecorderId, u64)>) -> (i64, i64) {
    batch.map_or((i64::MIN, i64::MIN), |(recorder, number)| {
        (recorder.cast_signed(), number.cast_signed())
    })
}
