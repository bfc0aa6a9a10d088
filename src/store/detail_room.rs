//! The limit on rows of visitor classes: the code that both databases share.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::details::{MAX_CLASSES_OF_INTERVAL, day_of};
use super::rows::signed;
use super::summing::Sums;
use crate::domain::ClickClass;

/// A row of intervals: the link, the interval, the number of the class.
pub(super) type QuarterRow = (i64, i32, i32);

/// The rows that there are, and how many more there may be.
#[derive(Default)]
pub(super) struct Room {
    /// Rows that are there already: clicks need no room in them.
    rows: HashSet<QuarterRow>,
    /// How many rows links have in an interval.
    of_intervals: HashMap<(i64, i32), u64>,
    /// How many rows were new on a day, by its first interval.
    of_days: HashMap<i32, u64>,
    /// How many may be.
    most_of_day: u64,
    /// Those that are new with these sums.
    new: HashMap<i32, u64>,
}

impl Room {
    pub(super) fn new(
        rows: Vec<QuarterRow>,
        of_intervals: Vec<(i64, i32, i64)>,
        of_days: Vec<(i32, i64)>,
        most_of_day: u64,
    ) -> Self {
        let of_interval =
            |(link, interval, rows): (i64, i32, i64)| ((link, interval), rows.unsigned_abs());
        let of_day = |(day, rows): (i32, i64)| (day, rows.unsigned_abs());
        Self {
            rows: rows.into_iter().collect(),
            of_intervals: of_intervals.into_iter().map(of_interval).collect(),
            of_days: of_days.into_iter().map(of_day).collect(),
            most_of_day,
            new: HashMap::new(),
        }
    }

    /// How many rows are new on each day.
    pub(super) fn new_rows(&self) -> Vec<(i32, i64)> {
        let new = self.new.iter();
        new.map(|(day, rows)| (*day, signed(*rows))).collect()
    }

    /// Takes the place of a row, unless it is there or is a last resort; returns whether there is room for it.
    fn takes(&mut self, row: QuarterRow, is_last_resort: bool) -> bool {
        let (link, interval, _) = row;
        if self.rows.contains(&row) {
            return true;
        }
        let day = day_of(interval);
        let of_interval = self.of_intervals.entry((link, interval)).or_default();
        let of_day = self.of_days.entry(day).or_default();
        let has_room = *of_interval < MAX_CLASSES_OF_INTERVAL && *of_day < self.most_of_day;
        if has_room || is_last_resort {
            *of_interval += 1;
            *of_day += 1;
            *self.new.entry(day).or_default() += 1;
            self.rows.insert(row);
        }
        has_room || is_last_resort
    }
}

impl Sums {
    /// Sums for whose rows there is room: other clicks keep nothing of their class but whether it is a known bot. Returns their
    /// number, too. `ids` has the number of each class.
    pub(super) fn fitted(self, ids: &HashMap<ClickClass, i32>, room: &mut Room) -> (Self, u64) {
        let mut unclassified = 0;
        let fitted = self.map_classes(|link, interval, class, clicks| {
            let alone = class.bot_flag_only();
            let is_last_resort = *class == alone;
            let takes = |id: &i32| room.takes((link.number(), interval, *id), is_last_resort);
            if ids.get(&*class).is_some_and(takes) {
                return class;
            }
            unclassified += clicks;
            if let Some(id) = ids.get(&alone) {
                room.takes((link.number(), interval, *id), true);
            }
            Arc::new(alone)
        });
        (fitted, unclassified)
    }
}
