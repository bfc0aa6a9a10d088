//! The limits on classes by quarter of an hour of a link, and by day of an account: the code that both databases share.

use std::sync::Arc;

use super::details::{MAX_CLASSES_OF_INTERVAL, MAX_CLASSES_OF_OWNER, day_of, quarter_of};
use super::rows::signed;
use super::summing::{ClassIds, Days, Sums, Whose};

/// The classes that there are, and how many more there may be.
pub(super) struct Room<'a> {
    days: &'a Days,
    /// How many classes were new on a day, by its first interval.
    of_days: Vec<(i32, i64)>,
    /// How many may be.
    most_of_day: i64,
    /// Those that are new with these sums.
    new: Vec<(i32, i64)>,
    /// The newest place for which room was asked: a quarter of a link, or the day of an account.
    place: Option<(Whose, i32)>,
    /// The classes of that place, in rising order.
    classes: Vec<i32>,
    /// How much of its room is taken.
    taken: usize,
}

impl<'a> Room<'a> {
    pub(super) fn new(days: &'a Days, of_days: Vec<(i32, i64)>, most_of_day: u64) -> Self {
        Self {
            days,
            of_days,
            most_of_day: signed(most_of_day),
            new: Vec::new(),
            place: None,
            classes: Vec::new(),
            taken: 0,
        }
    }

    /// How many classes are new on each day.
    pub(super) fn new_rows(self) -> Vec<(i32, i64)> {
        self.new
    }

    /// Takes the place of a class in a quarter of a link, or in a day of an account, where all quarters have their room together, unless it
    /// is there; returns whether there is room for it. A last resort has room everywhere. What is asked of one place is asked at once.
    fn takes(&mut self, whose: Whose, interval: i32, class: i32, is_last_resort: bool) -> bool {
        let day = day_of(interval);
        self.go_to(whose, interval);
        let Err(place) = self.classes.binary_search(&class) else {
            return true;
        };
        let has_room = if whose < 0 {
            self.taken < MAX_CLASSES_OF_OWNER
        } else {
            let new = *number(&mut self.of_days, day);
            (self.taken as u64) < MAX_CLASSES_OF_INTERVAL && new < self.most_of_day
        };
        if !has_room && !is_last_resort {
            return false;
        }
        if whose >= 0 {
            *number(&mut self.of_days, day) += 1;
            *number(&mut self.new, day) += 1;
        }
        self.classes.insert(place, class);
        self.taken += 1;
        true
    }

    fn go_to(&mut self, whose: Whose, interval: i32) {
        let day = day_of(interval);
        let place = (whose, if whose < 0 { day } else { interval });
        if self.place.replace(place) == Some(place) {
            return;
        }
        let known = self.days.get((day, whose));
        self.classes = match known {
            Some(known) if whose < 0 => known.classes(),
            Some(known) => known.of_quarter(quarter_of(interval)),
            None => Vec::new(),
        };
        self.taken = match known {
            Some(known) if whose < 0 => known.most_classes(),
            _ => self.classes.len(),
        };
    }
}

/// The number of a day, 0 if it is not in the list yet.
pub(super) fn number(numbers: &mut Vec<(i32, i64)>, day: i32) -> &mut i64 {
    let place = numbers.iter().position(|(known, _)| *known == day);
    let place = place.unwrap_or_else(|| {
        numbers.push((day, 0));
        numbers.len() - 1
    });
    &mut numbers[place].1
}

impl Sums {
    /// Sums for whose classes there is room: other clicks keep nothing of their class but whether it is a known bot. Returns their
    /// number, too. `ids` has the number of each class.
    pub(super) fn fitted(self, ids: &ClassIds, room: &mut Room<'_>) -> (Self, u64) {
        let mut unclassified = 0;
        let fitted = self.map_classes(&mut |sum| {
            let (whose, interval) = (sum.whose, sum.interval);
            let is_last_resort = sum.class.is_bot_flag_only();
            let id = ids.get(&sum.class);
            if id.is_some_and(|id| room.takes(whose, interval, *id, is_last_resort)) {
                return None;
            }
            unclassified += sum.clicks;
            let bot_flag = Arc::new(sum.class.bot_flag_only());
            if let Some(id) = ids.get(&bot_flag).filter(|_| whose > 0) {
                room.takes(whose, interval, *id, true);
            }
            Some(bot_flag)
        });
        (fitted, unclassified)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::class_day::{Addition, ClassDay};
    use crate::store::class_packing::Count;

    #[test]
    fn an_account_has_room_for_so_many_classes_on_a_day_and_for_bots_and_people_past_it() {
        let most = i32::try_from(MAX_CLASSES_OF_OWNER).unwrap();
        let mut day = ClassDay::default();
        let addition = |class| Addition {
            count: Count {
                quarter: 5,
                class,
                clicks: 1,
            },
            is_bot: false,
        };
        day.add(&(0..most - 1).map(addition).collect::<Vec<_>>());
        let mut days = Days::new(vec![(0, -7)]);
        days.set((0, -7), day);
        let mut room = Room::new(&days, Vec::new(), 0);
        let mut takes = |class, is_last_resort| room.takes(-7, 0, class, is_last_resort);
        assert!(takes(0, false), "it is there");
        assert!(takes(most, false), "the last one");
        assert!(!takes(most + 1, false));
        assert!(takes(most, false), "it is there now");
        assert!(takes(most + 2, true), "a last resort");
    }
}
