//! Rows of an owner's series, which have the same form in both databases.

use super::rows::link_id;
use super::{FlushMark, OwnerSnapshot, StoreError, WrittenBack};
use crate::domain::Interval;

/// Kinds of rows: a union of statements, so that it is one snapshot.
const POINT: i32 = 0;
const FLUSH_OF_DATA_SET: i32 = 1;
const TERM_OF_DATA_SET: i32 = 2;
const PARKED: i32 = 3;
const OWNED: i32 = 4;

/// Flags of a data set's term.
const IS_NEWEST: i64 = 1;
const IS_DRAINING: i64 = 2;

pub(super) fn owner_snapshot(
    rows: Vec<(i32, String, i64, i64)>,
) -> Result<OwnerSnapshot, StoreError> {
    let mut snapshot = OwnerSnapshot::default();
    let mut flushes = Vec::new();
    for (kind, epoch, first, second) in rows {
        match kind {
            POINT => snapshot
                .points
                .push((Interval::from_number(first), second.unsigned_abs())),
            FLUSH_OF_DATA_SET => flushes.push((epoch, first, second)),
            TERM_OF_DATA_SET => snapshot.data_sets.push(WrittenBack {
                epoch,
                term: first,
                flush: 0,
                up_to: FlushMark::Nothing,
                is_newest: second & IS_NEWEST != 0,
                is_draining: second & IS_DRAINING != 0,
            }),
            PARKED => {
                snapshot.parked_in.insert(epoch);
            }
            OWNED => {
                snapshot.owned.insert(link_id(first)?);
            }
            _ => {}
        }
    }
    for data_set in &mut snapshot.data_sets {
        let of_epoch = |(epoch, ..): &&(String, i64, i64)| *epoch == data_set.epoch;
        if let Some((_, flush, up_to)) = flushes.iter().find(of_epoch) {
            (data_set.flush, data_set.up_to) = (*flush, FlushMark::from_stored(*up_to));
        }
    }
    Ok(snapshot)
}
