//! Breakdowns and bots, read from packed days; the part that both databases have in common.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;

use super::class_packing::{parse_bots, parse_classes, parse_quarters};
use super::details::{QUARTERS_OF_DAY, day_of};
use crate::domain::Interval;

/// Sums of classes or of intervals.
type SumsOf = HashMap<i32, i64, RandomState>;

/// Sums by class of the days that a breakdown reads, one row after the other.
pub(super) struct ClassesIn {
    range: Range<i32>,
    sums: SumsOf,
}

impl ClassesIn {
    pub(super) fn new(range: &Range<Interval>) -> Self {
        Self {
            range: range.start.number()..range.end.number(),
            sums: SumsOf::default(),
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

    /// Adds the row of a day, its clicks times `sign`. If quarters that have left it are not kept any more, they count where the day
    /// begins.
    pub(super) fn add_day(
        &mut self,
        sign: i64,
        day: i32,
        (ended, quarters): (&[u8], &[u8]),
        are_quarters_kept: bool,
    ) -> Result<(), sqlx::Error> {
        let begins_here = self.range.contains(&day);
        if self.is_whole(day) || begins_here && !are_quarters_kept {
            for count in parse_classes(ended).ok_or_else(invalid_day)? {
                add(&mut self.sums, count.class, sign * count.clicks);
            }
        }
        // As far as they are in the range.
        for count in parse_quarters(quarters).ok_or_else(invalid_day)? {
            if self
                .range
                .contains(&day.saturating_add(count.quarter.into()))
            {
                add(&mut self.sums, count.class, sign * count.clicks);
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
}

/// Clicks of bots by interval, summed over the rows of days.
pub(super) struct BotsIn {
    range: Range<i32>,
    sums: SumsOf,
}

impl BotsIn {
    pub(super) fn new(range: &Range<Interval>) -> Self {
        Self {
            range: range.start.number()..range.end.number(),
            sums: SumsOf::default(),
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
        let sign = if is_deleted { -1 } else { 1 };
        for count in parse_bots(bots).ok_or_else(invalid_day)? {
            let interval = day.saturating_add(count.quarter.into());
            if self.range.contains(&interval) {
                add(&mut self.sums, interval, sign * count.clicks);
            }
        }
        Ok(())
    }

    /// In rising order.
    pub(super) fn sums(self) -> Vec<(Interval, u64)> {
        let mut sums: Vec<(i32, i64)> = self.sums.into_iter().collect();
        sums.retain(|(_, clicks)| *clicks > 0);
        sums.sort_unstable();
        let sums = sums.into_iter();
        sums.map(|(interval, clicks)| {
            (
                Interval::from_number(interval.into()),
                clicks.unsigned_abs(),
            )
        })
        .collect()
    }
}

fn add(sums: &mut SumsOf, key: i32, clicks: i64) {
    let sum = sums.entry(key).or_default();
    *sum = sum.saturating_add(clicks);
}

fn invalid_day() -> sqlx::Error {
    sqlx::Error::Decode("a day of classes is invalid".into())
}

/// The first and the last day that a range is in, as their first intervals.
fn days_of(range: &Range<i32>) -> (i32, i32) {
    (day_of(range.start), day_of(range.end.saturating_sub(1)))
}
