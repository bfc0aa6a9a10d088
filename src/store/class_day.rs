//! The clicks of a link, or of all links of an account, on one day (UTC) by class, as one packed row.
//!
//! The newest quarters of an hour are kept apart in the row. Once these take much room, all but the newest quarter leave it: they
//! become a row of their own, which never changes, and add to the sums of the day. So a click changes a short row, and a whole day
//! is read from one.

use std::collections::{BTreeMap, BTreeSet};

use super::class_packing::{
    OfClasses, packed_bots, packed_classes, packed_quarters, parse_bots, parse_classes,
    parse_quarters,
};

/// After how many bytes of quarters all but the newest leave the row.
const MAX_QUARTERS: usize = 1_024;

/// Clicks on one day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ClassDay {
    /// Clicks of known bots by quarter, of all quarters.
    bots: BTreeMap<u8, i64>,
    /// Clicks by class in the quarters that have left the row.
    ended: OfClasses,
    /// Clicks by class in the other quarters.
    quarters: BTreeMap<u8, OfClasses>,
    /// Whether `ended` is not as it was read.
    has_new_ended: bool,
}

/// A day as the databases keep it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PackedDay {
    pub(super) bots: Vec<u8>,
    pub(super) ended: Vec<u8>,
    /// Newest first, so that what stays is the end of the row: a database's log has only what changes between beginning and end.
    pub(super) quarters: Vec<u8>,
}

/// Clicks to be added to a day.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addition {
    pub(super) quarter: u8,
    pub(super) class: i32,
    pub(super) clicks: i64,
    pub(super) is_bot: bool,
}

impl ClassDay {
    /// `None` for bytes that are no day.
    pub(super) fn parse(packed: &PackedDay) -> Option<Self> {
        Some(Self {
            bots: parse_bots(&packed.bots)?.into_iter().collect(),
            ended: parse_classes(&packed.ended)?.into_iter().collect(),
            quarters: parse_quarters(&packed.quarters)?
                .into_iter()
                .map(|(quarter, classes)| (quarter, classes.into_iter().collect()))
                .collect(),
            has_new_ended: false,
        })
    }

    /// The day that takes the place of a row that is no day: it must not keep others from being merged.
    pub(super) fn begun_anew() -> Self {
        Self {
            has_new_ended: true,
            ..Self::default()
        }
    }

    pub(super) fn packed(&self) -> PackedDay {
        PackedDay {
            bots: packed_bots(&self.bots),
            ended: packed_classes(&self.ended),
            quarters: packed_quarters(&self.quarters),
        }
    }

    pub(super) fn add(&mut self, addition: &Addition) {
        let Addition {
            quarter,
            class,
            clicks,
            is_bot,
        } = *addition;
        let classes = self.quarters.entry(quarter).or_default();
        add(classes, class, clicks);
        if classes.is_empty() {
            self.quarters.remove(&quarter);
        }
        if is_bot {
            add(&mut self.bots, quarter, clicks);
        }
    }

    /// Takes out all quarters but the newest if they take much room, packed, as a row that never changes.
    pub(super) fn take_ended(&mut self) -> Option<Vec<u8>> {
        if self.quarters.len() < 2 || packed_quarters(&self.quarters).len() <= MAX_QUARTERS {
            return None;
        }
        let (newest, of_newest) = self.quarters.pop_last()?;
        let ended = std::mem::replace(&mut self.quarters, [(newest, of_newest)].into());
        self.has_new_ended = true;
        for (class, clicks) in ended.values().flatten() {
            add(&mut self.ended, *class, *clicks);
        }
        Some(packed_quarters(&ended))
    }

    /// Sums the quarters: from now on it is known of the whole day only what was clicked, but for known bots.
    pub(super) fn end_all(&mut self) {
        self.has_new_ended |= !self.quarters.is_empty();
        for (class, clicks) in std::mem::take(&mut self.quarters).values().flatten() {
            add(&mut self.ended, *class, *clicks);
        }
    }

    /// Subtracts the day of a deleted link, whose quarters that have left the row are these; `None` if they are not kept any more.
    pub(super) fn subtract(&mut self, gone: &Self, gone_quarters: Option<&[(u8, OfClasses)]>) {
        for (quarter, clicks) in &gone.bots {
            add(&mut self.bots, *quarter, -clicks);
        }
        let left = gone_quarters.unwrap_or_default().iter();
        let quarters = gone.quarters.iter();
        for (quarter, classes) in quarters.chain(left.map(|(quarter, classes)| (quarter, classes)))
        {
            let of_quarter = self.quarters.entry(*quarter).or_default();
            for (class, clicks) in classes {
                add(of_quarter, *class, -clicks);
            }
        }
        if gone_quarters.is_none() {
            self.has_new_ended = true;
            for (class, clicks) in &gone.ended {
                add(&mut self.ended, *class, -clicks);
            }
        }
        self.quarters.retain(|_, classes| !classes.is_empty());
    }

    /// The classes in a quarter; none if it has left the row.
    pub(super) fn of_quarter(&self, quarter: u8) -> Option<&OfClasses> {
        self.quarters.get(&quarter)
    }

    /// The day has no more classes than this.
    pub(super) fn most_classes(&self) -> usize {
        self.ended.len() + self.quarters.values().map(BTreeMap::len).sum::<usize>()
    }

    /// The clicks of a class.
    pub(super) fn total(&self, class: i32) -> i64 {
        let quarters = self.quarters.values().chain([&self.ended]);
        let clicks = quarters.filter_map(|classes| classes.get(&class));
        clicks.fold(0, |sum, clicks| sum.saturating_add(*clicks))
    }

    /// Classes of which more clicks were subtracted than there were, and how many.
    pub(super) fn overdrawn(&self) -> Vec<(i32, i64)> {
        let quarters = self.quarters.values().chain([&self.ended]);
        let below = quarters.flatten().filter(|(_, clicks)| **clicks < 0);
        let below: BTreeSet<i32> = below.map(|(class, _)| *class).collect();
        let totals = below.into_iter().map(|class| (class, self.total(class)));
        totals
            .filter(|(_, clicks)| *clicks < 0)
            .map(|(class, clicks)| (class, -clicks))
            .collect()
    }

    /// Makes up for clicks of a class that were counted as another one.
    pub(super) fn make_up(&mut self, overdrawn: i32, other: i32, clicks: i64) {
        self.has_new_ended = true;
        add(&mut self.ended, overdrawn, clicks);
        add(&mut self.ended, other, -clicks);
    }

    /// Whether a class is in the day.
    pub(super) fn has(&self, class: i32) -> bool {
        let mut quarters = self.quarters.values().chain([&self.ended]);
        quarters.any(|classes| classes.contains_key(&class))
    }

    /// Whether the clicks in quarters that have left the row are not as they were read.
    pub(super) fn has_new_ended(&self) -> bool {
        self.has_new_ended
    }

    /// All classes of the day.
    pub(super) fn classes(&self) -> BTreeSet<i32> {
        let quarters = self.quarters.values().chain([&self.ended]);
        quarters.flat_map(BTreeMap::keys).copied().collect()
    }

    /// Whether no click is left.
    pub(super) fn is_empty(&self) -> bool {
        self.bots.is_empty() && self.ended.is_empty() && self.quarters.is_empty()
    }
}

/// Adds to a sum. A sum of 0 has no entry.
fn add<K: Ord>(sums: &mut BTreeMap<K, i64>, key: K, clicks: i64) {
    use std::collections::btree_map::Entry;
    match sums.entry(key) {
        Entry::Vacant(vacant) if clicks != 0 => {
            vacant.insert(clicks);
        }
        Entry::Vacant(_) => {}
        Entry::Occupied(mut sum) => match sum.get().saturating_add(clicks) {
            0 => {
                sum.remove();
            }
            new => *sum.get_mut() = new,
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn additions() -> impl Strategy<Value = Vec<Addition>> {
        let addition = (0..96_u8, 1..5_000_i32, 1..1_000_i64, any::<bool>());
        let addition = addition.prop_map(|(quarter, class, clicks, is_bot)| Addition {
            quarter,
            class,
            clicks,
            is_bot,
        });
        vec(addition, 0..800)
    }

    /// A day with these clicks, and the quarters that left it.
    fn day(additions: &[Addition]) -> (ClassDay, Vec<(u8, OfClasses)>) {
        let (mut day, mut left) = (ClassDay::default(), Vec::new());
        for addition in additions {
            day.add(addition);
            for (quarter, classes) in parse_quarters(&day.take_ended().unwrap_or_default()).unwrap()
            {
                left.push((quarter, classes.into_iter().collect()));
            }
            assert!(
                day.quarters.len() == 1
                    || packed_quarters(&day.quarters).len() <= MAX_QUARTERS + 16
            );
        }
        (day, left)
    }

    proptest! {
        #[test]
        fn a_day_is_read_as_it_was_packed(additions in additions()) {
            let (day, _) = day(&additions);
            let packed = day.packed();
            prop_assert_eq!(ClassDay::parse(&packed).unwrap().packed(), packed);
        }

        #[test]
        fn each_click_is_in_the_whole_day_and_in_its_quarter_once(additions in additions()) {
            let (day, left) = day(&additions);
            let (mut whole, mut by_quarter, mut bots) = (OfClasses::new(), BTreeMap::new(), BTreeMap::new());
            for Addition { quarter, class, clicks, is_bot } in &additions {
                add(&mut whole, *class, *clicks);
                add(&mut by_quarter, (*quarter, *class), *clicks);
                if *is_bot {
                    add(&mut bots, *quarter, *clicks);
                }
            }
            let (mut found, mut found_by_quarter) = (day.ended.clone(), BTreeMap::new());
            for (class, clicks) in day.quarters.values().flatten() {
                add(&mut found, *class, *clicks);
            }
            let quarters = day.quarters.iter().chain(left.iter().map(|(quarter, classes)| (quarter, classes)));
            for (quarter, classes) in quarters {
                for (class, clicks) in classes {
                    add(&mut found_by_quarter, (*quarter, *class), *clicks);
                }
            }
            prop_assert_eq!((found, found_by_quarter, day.bots), (whole, by_quarter, bots));
        }

        #[test]
        fn a_day_whose_quarters_are_summed_has_the_same_classes_and_bots(additions in additions()) {
            let mut day = day(&additions).0;
            let (mut whole, before) = (OfClasses::new(), day.clone());
            for addition in &additions {
                add(&mut whole, addition.class, addition.clicks);
            }
            day.end_all();
            prop_assert_eq!((&day.ended, &day.quarters), (&whole, &BTreeMap::new()));
            prop_assert_eq!((day.classes(), &day.bots), (before.classes(), &before.bots));
        }

        #[test]
        fn a_day_without_all_of_its_links_is_empty(additions in additions()) {
            let mut day = day(&additions).0;
            let (first, second) = additions.split_at(additions.len() / 2);
            let mut left_of_owner = BTreeMap::new();
            for part in [first, second] {
                let (gone, left) = self::day(part);
                day.subtract(&gone, Some(&left));
            }
            for (class, clicks) in day.quarters.values().flatten() {
                add(&mut left_of_owner, *class, *clicks);
            }
            for (class, clicks) in &day.ended {
                add(&mut left_of_owner, *class, *clicks);
            }
            prop_assert!(left_of_owner.is_empty() && day.bots.is_empty());
        }
    }

    #[test]
    fn without_its_quarters_a_deleted_link_leaves_the_whole_day() {
        let click = |class| Addition {
            quarter: 5,
            class,
            clicks: 2,
            is_bot: false,
        };
        let mut of_owner = ClassDay::default();
        of_owner.add(&click(1));
        of_owner.add(&click(2));
        of_owner.ended = std::mem::take(&mut of_owner.quarters)
            .into_values()
            .flatten()
            .collect();
        let mut gone = ClassDay::default();
        gone.ended.insert(1, 2);
        of_owner.subtract(&gone, None);
        assert_eq!(of_owner.ended, [(2, 2)].into());
    }
}
