//! The limit on classes by quarter of an hour: the code that both databases share.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::class_day::ClassDay;
use super::class_packing::OfClasses;
use super::details::{MAX_CLASSES_OF_INTERVAL, MAX_CLASSES_OF_OWNER, day_of, quarter_of};
use super::rows::signed;
use super::summing::{ClassIds, Days, Sums, Whose};

/// The classes that there are, and how many more there may be.
pub(super) struct Room<'a> {
    days: &'a Days,
    /// Classes that are new in a quarter of a link, or on a day of an account.
    new_of_quarters: HashMap<(Whose, i32), OfClasses, RandomState>,
    /// How many were new on a day, by its first interval.
    of_days: HashMap<i32, u64>,
    /// How many may be.
    most_of_day: u64,
    /// Those that are new with these sums.
    new: HashMap<i32, u64>,
}

impl<'a> Room<'a> {
    pub(super) fn new(days: &'a Days, of_days: Vec<(i32, i64)>, most_of_day: u64) -> Self {
        let of_day = |(day, rows): (i32, i64)| (day, rows.unsigned_abs());
        Self {
            days,
            new_of_quarters: HashMap::default(),
            of_days: of_days.into_iter().map(of_day).collect(),
            most_of_day,
            new: HashMap::new(),
        }
    }

    /// How many classes are new on each day.
    pub(super) fn new_rows(&self) -> Vec<(i32, i64)> {
        let new = self.new.iter();
        new.map(|(day, rows)| (*day, signed(*rows))).collect()
    }

    /// Takes the place of a class in a quarter of a link, unless it is there or is a last resort; returns whether there is room for it.
    fn takes(&mut self, link: Whose, interval: i32, class: i32, is_last_resort: bool) -> bool {
        let day = day_of(interval);
        let known = self.days.get(&(day, link));
        let known = known.and_then(|day: &ClassDay| day.of_quarter(quarter_of(interval)));
        let new = self.new_of_quarters.entry((link, interval)).or_default();
        if known.is_some_and(|known| known.contains_key(&class)) || new.contains_key(&class) {
            return true;
        }
        let of_interval = (known.map_or(0, OfClasses::len) + new.len()) as u64;
        let of_day = self.of_days.entry(day).or_default();
        let has_room = of_interval < MAX_CLASSES_OF_INTERVAL && *of_day < self.most_of_day;
        if has_room || is_last_resort {
            *of_day += 1;
            *self.new.entry(day).or_default() += 1;
            new.insert(class, 0);
        }
        has_room || is_last_resort
    }
}

impl Room<'_> {
    /// The same in a day of an account, where all quarters have their room together.
    fn takes_of_account(
        &mut self,
        account: Whose,
        day: i32,
        class: i32,
        is_last_resort: bool,
    ) -> bool {
        let known = self.days.get(&(day, account));
        let new = self.new_of_quarters.entry((account, day)).or_default();
        if known.is_some_and(|known| known.has(class)) || new.contains_key(&class) {
            return true;
        }
        let of_day = known.map_or(0, ClassDay::most_classes) + new.len();
        let has_room = of_day < MAX_CLASSES_OF_OWNER || is_last_resort;
        if has_room {
            new.insert(class, 0);
        }
        has_room
    }
}

impl Sums {
    /// Sums for whose classes there is room: other clicks keep nothing of their class but whether it is a known bot. Returns their
    /// number, too. `ids` has the number of each class.
    pub(super) fn fitted(self, ids: &ClassIds, room: &mut Room<'_>) -> (Self, u64) {
        let mut unclassified = 0;
        let fitted = self.map_classes(|whose, interval, class, clicks| {
            let is_last_resort = class.is_bot_flag_only();
            let mut takes = |id: &i32| {
                if whose < 0 {
                    room.takes_of_account(whose, day_of(interval), *id, is_last_resort)
                } else {
                    room.takes(whose, interval, *id, is_last_resort)
                }
            };
            if ids.get(&class).is_some_and(&mut takes) {
                return class;
            }
            unclassified += clicks;
            let bot_flag = Arc::new(class.bot_flag_only());
            if let Some(id) = ids.get(&bot_flag).filter(|_| whose > 0) {
                room.takes(whose, interval, *id, true);
            }
            bot_flag
        });
        (fitted, unclassified)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::class_day::Addition;

    #[test]
    fn an_account_has_room_for_so_many_classes_on_a_day_and_for_bots_and_people_past_it() {
        let most = i32::try_from(MAX_CLASSES_OF_OWNER).unwrap();
        let mut day = ClassDay::default();
        for class in 0..most - 1 {
            day.add(&Addition {
                quarter: 5,
                class,
                clicks: 1,
                is_bot: false,
            });
        }
        let days = Days::from([((0, -7), day)]);
        let mut room = Room::new(&days, Vec::new(), 0);
        let mut takes = |class, is_last_resort| room.takes_of_account(-7, 0, class, is_last_resort);
        assert!(takes(0, false), "it is there");
        assert!(takes(most, false), "the last one");
        assert!(!takes(most + 1, false));
        assert!(takes(most, false), "it is there now");
        assert!(takes(most + 2, true), "a last resort");
    }
}
