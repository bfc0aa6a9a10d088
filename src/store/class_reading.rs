//! Breakdowns and bots, read from packed days; the part that both databases have in common.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::ops::Range;

use foldhash::fast::RandomState;

use super::class_packing::{parse_bots, parse_classes, parse_quarters};
use super::details::{ClickSum, QUARTERS_OF_DAY, day_of};
use crate::domain::Interval;

/// Sums of intervals.
type SumsOf = HashMap<i32, i64, RandomState>;

/// Sums of classes by the point that they are in.
type SumsOfPoints = HashMap<(i32, i32), i64, RandomState>;

/// Sums by point and class of the days that a breakdown or a series reads, one row after the other.
pub(super) struct ClassesIn {
    /// The first interval of each point, in rising order; a breakdown has one point.
    points: Vec<i32>,
    end: i32,
    sums: SumsOfPoints,
}

impl ClassesIn {
    /// All of a range as one point.
    pub(super) fn new(range: &Range<Interval>) -> Self {
        Self::by_points(&[range.start], range.end)
    }

    /// Points with these starts, in rising order, the last of which ends at `end`.
    pub(super) fn by_points(starts: &[Interval], end: Interval) -> Self {
        Self {
            points: starts.iter().map(|start| start.number()).collect(),
            end: end.number(),
            sums: SumsOfPoints::default(),
        }
    }

    /// The first and the last day that the range is in, as their first intervals.
    pub(super) fn days(&self) -> (i32, i32) {
        days_of(&self.range())
    }

    fn range(&self) -> Range<i32> {
        self.points.first().copied().unwrap_or(self.end)..self.end
    }

    /// The days that a point has only a part of: their quarters that have left their row are read, too.
    pub(super) fn days_in_part(&self) -> Vec<i32> {
        let bounds = self.points.iter().chain([&self.end]);
        let mut days: Vec<_> = bounds
            .filter(|bound| **bound != day_of(**bound))
            .map(|bound| day_of(*bound))
            .collect();
        days.dedup();
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
        let range = self.range();
        let begins_here = range.contains(&day);
        if self.is_whole(day) || begins_here && !are_quarters_kept {
            for count in parse_classes(ended).ok_or_else(invalid_day)? {
                self.add(day, count.class, sign * count.clicks);
            }
        }
        // As far as they are in the range.
        for count in parse_quarters(quarters).ok_or_else(invalid_day)? {
            let interval = day.saturating_add(count.quarter.into());
            if range.contains(&interval) {
                self.add(interval, count.class, sign * count.clicks);
            }
        }
        Ok(())
    }

    fn add(&mut self, interval: i32, class: i32, clicks: i64) {
        let after = self.points.partition_point(|start| *start <= interval);
        let Some(point) = after.checked_sub(1).and_then(|at| self.points.get(at)) else {
            return;
        };
        add(&mut self.sums, (*point, class), clicks);
    }

    /// The classes, and the clicks of each.
    pub(super) fn sums(self) -> (Vec<i32>, Vec<i64>) {
        let sums = self.sums.into_iter().filter(|(_, clicks)| *clicks > 0);
        sums.map(|((_, class), clicks)| (class, clicks)).unzip()
    }

    /// The classes that any point has.
    pub(super) fn classes(&self) -> Vec<i32> {
        let mut classes: Vec<_> = self.sums.keys().map(|(_, class)| *class).collect();
        classes.sort_unstable();
        classes.dedup();
        classes
    }

    /// The clicks of these classes at the start of each point, and of known bots among them. Each class says whether it is a bot's.
    pub(super) fn series(&self, classes: &[(i32, bool)]) -> Vec<(Interval, ClickSum)> {
        let are_bots: HashMap<i32, bool, RandomState> = classes.iter().copied().collect();
        let mut points = BTreeMap::<i32, ClickSum>::new();
        for ((point, class), clicks) in &self.sums {
            let Some(is_bot) = are_bots.get(class) else {
                continue;
            };
            let clicks = u64::try_from(*clicks).unwrap_or_default();
            let sum = points.entry(*point).or_default();
            sum.clicks = sum.clicks.saturating_add(clicks);
            if !is_bot {
                sum.people = sum.people.saturating_add(clicks);
            }
        }
        let points = points.into_iter();
        points
            .map(|(point, sum)| (Interval::from_number(point.into()), sum))
            .collect()
    }

    fn is_whole(&self, day: i32) -> bool {
        let end = day.saturating_add(QUARTERS_OF_DAY);
        let range = self.range();
        let after = self.points.partition_point(|start| *start <= day);
        let next = self.points.get(after).copied().unwrap_or(self.end);
        range.start <= day && end <= next
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

fn add<K: Eq + Hash>(sums: &mut HashMap<K, i64, RandomState>, key: K, clicks: i64) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::class_packing::{Count, packed_classes, packed_quarters};

    const DAY: i32 = 96;

    fn count(quarter: u8, class: i32, clicks: i64) -> Count {
        Count {
            quarter,
            class,
            clicks,
        }
    }

    fn interval(number: i32) -> Interval {
        Interval::from_number(number.into())
    }

    #[test]
    fn a_day_that_a_point_has_a_part_of_is_read_by_quarters_and_others_as_a_whole() {
        let starts = [interval(DAY), interval(2 * DAY), interval(3 * DAY + 48)];
        let mut classes = ClassesIn::by_points(&starts, interval(5 * DAY));
        assert_eq!(classes.days(), (DAY, 4 * DAY));
        assert_eq!(classes.days_in_part(), [3 * DAY]);
        let ended = packed_classes(&[count(0, 1, 5)]);
        let quarters = packed_quarters(&[count(50, 2, 3)]);
        for day in 1..5 {
            classes
                .add_day(1, day * DAY, (&ended, &quarters), true)
                .unwrap();
        }
        // The quarters that left the row of the third day.
        let left = packed_quarters(&[count(2, 1, 5)]);
        classes.add_day(1, 3 * DAY, (&[], &left), true).unwrap();
        assert_eq!(classes.classes(), [1, 2]);
        let sums = |classes: &[(i32, bool)], of: &ClassesIn| {
            let series = of.series(classes).into_iter();
            let series = series.map(|(at, sum)| (at.number(), sum.clicks, sum.people));
            series.collect::<Vec<_>>()
        };
        let both = [(1, false), (2, true)];
        let expected = [(DAY, 8, 5), (2 * DAY, 13, 10), (3 * DAY + 48, 11, 5)];
        assert_eq!(sums(&both, &classes), expected);
        assert_eq!(sums(&[(2, true)], &classes)[0], (DAY, 3, 0));
    }
}
