//! Clicks by quarter of an hour and class, and the packed form in which the databases keep them. Numbers are in LEB128.

use crate::domain::leb128::{put_number, take_number};

/// Clicks of a class in a quarter of an hour of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Count {
    /// 0 in sums of a whole day.
    pub(super) quarter: u8,
    /// The class by its id; 0 in sums of all known bots.
    pub(super) class: i32,
    /// Below 0 if clicks of a deleted link are subtracted from quarters that have left the row.
    pub(super) clicks: i64,
}

/// Puts counts in their order, and adds up the counts of the same quarter and class. A sum of 0 is left out.
pub(super) fn sum_up(counts: &mut Vec<Count>) {
    counts.sort();
    counts.dedup_by(|next, sum| {
        let is_same = (next.quarter, next.class) == (sum.quarter, sum.class);
        if is_same {
            sum.clicks = sum.clicks.saturating_add(next.clicks);
        }
        is_same
    });
    counts.retain(|count| count.clicks != 0);
}

/// Clicks by quarter and class, the newest quarter first.
pub(super) fn packed_quarters(quarters: &[Count]) -> Vec<u8> {
    let mut packed = Vec::new();
    let of_quarters = quarters.chunk_by(|one, other| one.quarter == other.quarter);
    for classes in of_quarters.rev() {
        packed.push(classes[0].quarter);
        put_classes(&mut packed, classes);
    }
    packed
}

/// Clicks of known bots by quarter.
pub(super) fn packed_bots(bots: &[Count]) -> Vec<u8> {
    let mut packed = Vec::new();
    for count in bots {
        packed.push(count.quarter);
        put_signed(&mut packed, count.clicks);
    }
    packed
}

/// Clicks by class.
pub(super) fn packed_classes(classes: &[Count]) -> Vec<u8> {
    let mut packed = Vec::new();
    if !classes.is_empty() {
        put_classes(&mut packed, classes);
    }
    packed
}

/// How many there are, then each class less the one before, and its clicks.
fn put_classes(packed: &mut Vec<u8>, classes: &[Count]) {
    put_number(packed, classes.len() as u64);
    let mut before = 0;
    for count in classes {
        put_number(packed, u64::from((count.class - before).unsigned_abs()));
        put_signed(packed, count.clicks);
        before = count.class;
    }
}

fn take_classes(rest: &mut &[u8], quarter: u8, counts: &mut Vec<Count>) -> Option<()> {
    let (number, mut class) = (take_number(rest)?, 0_i32);
    for _ in 0..number {
        let step = i32::try_from(take_number(rest)?).ok()?;
        class = class.checked_add(step)?;
        counts.push(Count {
            quarter,
            class,
            clicks: take_signed(rest)?,
        });
    }
    Some(())
}

/// What [`packed_bots`] packed; `None` for other bytes, here and below.
pub(super) fn parse_bots(packed: &[u8]) -> Option<Vec<Count>> {
    let (mut rest, mut bots) = (packed, Vec::new());
    while let Some((quarter, after)) = rest.split_first() {
        rest = after;
        bots.push(Count {
            quarter: *quarter,
            class: 0,
            clicks: take_signed(&mut rest)?,
        });
    }
    Some(bots)
}

/// What [`packed_classes`] packed.
pub(super) fn parse_classes(packed: &[u8]) -> Option<Vec<Count>> {
    let (mut rest, mut counts) = (packed, Vec::new());
    if !rest.is_empty() {
        take_classes(&mut rest, 0, &mut counts)?;
    }
    rest.is_empty().then_some(counts)
}

/// What [`packed_quarters`] packed, in the order of that.
pub(super) fn parse_quarters(packed: &[u8]) -> Option<Vec<Count>> {
    let (mut rest, mut counts) = (packed, Vec::new());
    while let Some((quarter, after)) = rest.split_first() {
        rest = after;
        take_classes(&mut rest, *quarter, &mut counts)?;
    }
    Some(counts)
}

/// The sign is the lowest bit.
fn put_signed(packed: &mut Vec<u8>, number: i64) {
    put_number(packed, (number << 1 ^ number >> 63).cast_unsigned());
}

fn take_signed(rest: &mut &[u8]) -> Option<i64> {
    let number = take_number(rest)?;
    Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = (parse_bots(&bytes), parse_classes(&bytes), parse_quarters(&bytes));
        }

        #[test]
        fn numbers_are_read_as_they_were_put(number: i64) {
            let mut packed = Vec::new();
            put_signed(&mut packed, number);
            prop_assert_eq!(take_signed(&mut &*packed), Some(number));
        }
    }
}
