//! Breakdowns and bots, read from packed days; the part that both databases have in common.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use foldhash::fast::RandomState;

use super::class_packing::{parse_bots, parse_classes, parse_quarters};
use super::details::{QUARTERS_OF_DAY, day_of};
use crate::domain::Interval;

/// Sums by class of the days that a breakdown reads, one row after the other.
pub(super) struct ClassesIn {
    range: Range<i32>,
    sums: HashMap<i32, i64, RandomState>,
}

impl ClassesIn {
    pub(super) fn new(range: &Range<Interval>) -> Self {
        Self {
            range: range.start.number()..range.end.number(),
            sums: HashMap::default(),
        }
    }

    /// The first and the last day that the range is in, as their first intervals.
    pub(super) fn days(&self) -> (i32, i32) {
        days_of(&self.range)
    }

    /// The days that the range has only a part of: their quarters that have left their row are read, too.
    pub(super) fn days_in_part(&self) -> Vec<i32> {
        let (first, last) = self.days();
        let mut days = vec![first, last];
        days.dedup();
        days.retain(|day| !self.is_whole(*day));
        days
    }

    /// Adds the row of a day. If quarters that have left it are not kept any more, they count where the day begins.
    pub(super) fn add_day(
        &mut self,
        day: i32,
        ended: &[u8],
        quarters: &[u8],
        are_quarters_kept: bool,
    ) -> Result<(), sqlx::Error> {
        let begins_here = self.range.contains(&day);
        if self.is_whole(day) || begins_here && !are_quarters_kept {
            for (class, clicks) in parse_classes(ended).ok_or_else(invalid_day)? {
                self.add(class, clicks);
            }
        }
        self.add_quarters(day, quarters)
    }

    /// Adds quarters of a day, as far as they are in the range.
    pub(super) fn add_quarters(&mut self, day: i32, quarters: &[u8]) -> Result<(), sqlx::Error> {
        for (quarter, classes) in parse_quarters(quarters).ok_or_else(invalid_day)? {
            if self.range.contains(&day.saturating_add(quarter.into())) {
                for (class, clicks) in classes {
                    self.add(class, clicks);
                }
            }
        }
        Ok(())
    }

    /// The classes, and the clicks of each.
    pub(super) fn sums(self) -> (Vec<i32>, Vec<i64>) {
        let sums = self.sums.into_iter().filter(|(_, clicks)| *clicks > 0);
        sums.unzip()
    }

    fn is_whole(&self, day: i32) -> bool {
        self.range.start <= day && day.saturating_add(QUARTERS_OF_DAY) <= self.range.end
    }

    fn add(&mut self, class: i32, clicks: i64) {
        let sum = self.sums.entry(class).or_default();
        *sum = sum.saturating_add(clicks);
    }
}

/// Clicks of bots by interval, summed over the rows of days.
pub(super) struct BotsIn {
    range: Range<i32>,
    sums: BTreeMap<i32, i64>,
}

impl BotsIn {
    pub(super) fn new(range: &Range<Interval>) -> Self {
        Self {
            range: range.start.number()..range.end.number(),
            sums: BTreeMap::new(),
        }
    }

    /// The first and the last day that the range is in, as their first intervals.
    pub(super) fn days(&self) -> (i32, i32) {
        days_of(&self.range)
    }

    /// Adds the bots of a day, or subtracts them, which a deleted link has.
    pub(super) fn add_day(
        &mut self,
        day: i32,
        bots: &[u8],
        is_deleted: bool,
    ) -> Result<(), sqlx::Error> {
        for (quarter, clicks) in parse_bots(bots).ok_or_else(invalid_day)? {
            let interval = day.saturating_add(quarter.into());
            if self.range.contains(&interval) {
                let sum = self.sums.entry(interval).or_default();
                *sum = sum.saturating_add(if is_deleted { -clicks } else { clicks });
            }
        }
        Ok(())
    }

    pub(super) fn sums(self) -> Vec<(Interval, u64)> {
        let sums = self.sums.into_iter().filter(|(_, clicks)| *clicks > 0);
        sums.map(|(interval, clicks)| {
            (
                Interval::from_number(interval.into()),
                clicks.unsigned_abs(),
            )
        })
        .collect()
    }
}

fn invalid_day() -> sqlx::Error {
    sqlx::Error::Decode("a day of classes is invalid".into())
}

/// The first and the last day that a range is in, as their first intervals.
fn days_of(range: &Range<i32>) -> (i32, i32) {
    (day_of(range.start), day_of(range.end.saturating_sub(1)))
}
