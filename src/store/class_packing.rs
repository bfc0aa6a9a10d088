//! The packed form of clicks by class, in which the databases keep them. Numbers are in LEB128.

use std::collections::BTreeMap;

use crate::domain::leb128::{put_number, take_number};

/// Clicks by the id of their class; below 0 if clicks of a deleted link are subtracted from quarters that have left the row.
pub(super) type OfClasses = BTreeMap<i32, i64>;

/// The same as a list, in the order of their classes.
pub(super) type ClassClicks = Vec<(i32, i64)>;

/// Clicks by quarter and class, the newest quarter first.
pub(super) fn packed_quarters(quarters: &BTreeMap<u8, OfClasses>) -> Vec<u8> {
    let mut packed = Vec::new();
    for (quarter, classes) in quarters.iter().rev() {
        packed.push(*quarter);
        put_classes(&mut packed, classes);
    }
    packed
}

/// Clicks of known bots by quarter.
pub(super) fn packed_bots(bots: &BTreeMap<u8, i64>) -> Vec<u8> {
    let mut packed = Vec::new();
    for (quarter, clicks) in bots {
        packed.push(*quarter);
        put_signed(&mut packed, *clicks);
    }
    packed
}

/// Clicks by class.
pub(super) fn packed_classes(classes: &OfClasses) -> Vec<u8> {
    let mut packed = Vec::new();
    if !classes.is_empty() {
        put_classes(&mut packed, classes);
    }
    packed
}

/// How many there are, then each class less the one before, and its clicks.
fn put_classes(packed: &mut Vec<u8>, classes: &OfClasses) {
    put_number(packed, classes.len() as u64);
    let mut before = 0;
    for (class, clicks) in classes {
        put_number(packed, u64::from((class - before).unsigned_abs()));
        put_signed(packed, *clicks);
        before = *class;
    }
}

fn take_classes(rest: &mut &[u8]) -> Option<ClassClicks> {
    let (count, mut before) = (take_number(rest)?, 0_i32);
    let mut classes = Vec::new();
    for _ in 0..count {
        let step = i32::try_from(take_number(rest)?).ok()?;
        before = before.checked_add(step)?;
        classes.push((before, take_signed(rest)?));
    }
    Some(classes)
}

/// What [`packed_bots`] packed; `None` for other bytes, here and below.
pub(super) fn parse_bots(packed: &[u8]) -> Option<Vec<(u8, i64)>> {
    let (mut rest, mut bots) = (packed, Vec::new());
    while let Some((quarter, after)) = rest.split_first() {
        rest = after;
        bots.push((*quarter, take_signed(&mut rest)?));
    }
    Some(bots)
}

/// What [`packed_classes`] packed.
pub(super) fn parse_classes(packed: &[u8]) -> Option<ClassClicks> {
    if packed.is_empty() {
        return Some(Vec::new());
    }
    let rest = &mut &*packed;
    take_classes(rest).filter(|_| rest.is_empty())
}

/// What [`packed_quarters`] packed.
pub(super) fn parse_quarters(packed: &[u8]) -> Option<Vec<(u8, ClassClicks)>> {
    let (mut rest, mut quarters) = (packed, Vec::new());
    while let Some((quarter, after)) = rest.split_first() {
        rest = after;
        quarters.push((*quarter, take_classes(&mut rest)?));
    }
    Some(quarters)
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
