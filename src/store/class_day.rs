//! The clicks of a link, or of all links of an account, on one day (UTC) by class, as one packed row.
//!
//! The newest quarters of an hour are kept apart in the row. Once these take much room, all but the newest quarter leave it: they
//! become a row of their own, which never changes, and add to the sums of the day. So a click changes a short row, and a whole day
//! is read from one.

use super::class_packing::{
    Count, packed_bots, packed_classes, packed_quarters, parse_bots, parse_classes, parse_quarters,
    sum_up,
};

/// After how many bytes of quarters all but the newest leave the row.
const MAX_QUARTERS: usize = 1_024;

/// Clicks on one day, all of them [summed up](sum_up).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ClassDay {
    /// Clicks of known bots by quarter, of all quarters.
    bots: Vec<Count>,
    /// Clicks by class in the quarters that have left the row.
    ended: Vec<Count>,
    /// Clicks by class in the other quarters.
    quarters: Vec<Count>,
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
    pub(super) count: Count,
    pub(super) is_bot: bool,
}

impl ClassDay {
    /// `None` for bytes that are no day.
    pub(super) fn parse(packed: &PackedDay) -> Option<Self> {
        let mut day = Self {
            bots: parse_bots(&packed.bots)?,
            ended: parse_classes(&packed.ended)?,
            quarters: parse_quarters(&packed.quarters)?,
            has_new_ended: false,
        };
        for counts in [&mut day.bots, &mut day.ended, &mut day.quarters] {
            sum_up(counts);
        }
        Some(day)
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

    pub(super) fn add(&mut self, additions: &[Addition]) {
        let bots = additions.iter().filter(|addition| addition.is_bot);
        self.bots.extend(bots.map(|addition| Count {
            class: 0,
            ..addition.count
        }));
        sum_up(&mut self.bots);
        let counts = additions.iter().map(|addition| addition.count);
        self.quarters.extend(counts);
        sum_up(&mut self.quarters);
    }

    /// Takes out all quarters but the newest if they take much room, packed, as a row that never changes.
    pub(super) fn take_ended(&mut self) -> Option<Vec<u8>> {
        let newest = self.quarters.last()?.quarter;
        let ended = self
            .quarters
            .partition_point(|count| count.quarter < newest);
        if ended == 0 || packed_quarters(&self.quarters).len() <= MAX_QUARTERS {
            return None;
        }
        let ended: Vec<_> = self.quarters.drain(..ended).collect();
        self.add_ended(&ended);
        Some(packed_quarters(&ended))
    }

    /// Sums the quarters: from now on it is known of the whole day only what was clicked, but for known bots.
    pub(super) fn end_all(&mut self) {
        let quarters = std::mem::take(&mut self.quarters);
        self.add_ended(&quarters);
    }

    fn add_ended(&mut self, counts: &[Count]) {
        self.has_new_ended |= !counts.is_empty();
        let counts = counts.iter().map(|count| Count {
            quarter: 0,
            ..*count
        });
        self.ended.extend(counts);
        sum_up(&mut self.ended);
    }

    /// Subtracts the day of a deleted link, whose quarters that have left the row are these; `None` if they are not kept any more.
    pub(super) fn subtract(&mut self, gone: &Self, gone_quarters: Option<&[Count]>) {
        subtract(&mut self.bots, &gone.bots);
        subtract(&mut self.quarters, &gone.quarters);
        if let Some(gone_quarters) = gone_quarters {
            subtract(&mut self.quarters, gone_quarters);
        } else {
            self.has_new_ended = true;
            subtract(&mut self.ended, &gone.ended);
        }
    }

    /// The classes in a quarter; none if it has left the row.
    pub(super) fn of_quarter(&self, quarter: u8) -> Vec<i32> {
        let counts = self.quarters.iter();
        let counts = counts.filter(|count| count.quarter == quarter);
        counts.map(|count| count.class).collect()
    }

    /// The day has no more classes than this.
    pub(super) fn most_classes(&self) -> usize {
        self.ended.len() + self.quarters.len()
    }

    /// All classes of the day with their clicks.
    fn whole(&self) -> Vec<Count> {
        let mut whole = self.clone();
        whole.end_all();
        whole.ended
    }

    /// All classes of the day, in rising order.
    pub(super) fn classes(&self) -> Vec<i32> {
        let counts = self.ended.iter().chain(&self.quarters);
        let mut classes: Vec<_> = counts.map(|count| count.class).collect();
        classes.sort_unstable();
        classes.dedup();
        classes
    }

    /// Classes of which more clicks were subtracted than there were.
    pub(super) fn overdrawn(&self) -> Vec<Count> {
        let mut whole = self.whole();
        whole.retain(|count| count.clicks < 0);
        whole
    }

    /// Makes up for clicks of overdrawn classes that were counted as another class: the first of `others` that has so many.
    pub(super) fn make_up(&mut self, others: &dyn Fn(i32) -> Vec<i32>) {
        let (mut whole, mut moved) = (self.whole(), Vec::new());
        for below in self.overdrawn() {
            for class in others(below.class) {
                let Ok(place) = whole.binary_search_by_key(&class, |count| count.class) else {
                    continue;
                };
                let left = whole[place].clicks + below.clicks;
                if left >= 0 {
                    whole[place].clicks = left;
                    let clicks = -below.clicks;
                    moved.extend([Count { clicks, ..below }, Count { class, ..below }]);
                    break;
                }
            }
        }
        self.add_ended(&moved);
    }

    /// Whether the clicks in quarters that have left the row are not as they were read.
    pub(super) fn has_new_ended(&self) -> bool {
        self.has_new_ended
    }

    /// Whether no click is left.
    pub(super) fn is_empty(&self) -> bool {
        self.bots.is_empty() && self.ended.is_empty() && self.quarters.is_empty()
    }
}

fn subtract(counts: &mut Vec<Count>, gone: &[Count]) {
    counts.extend(gone.iter().map(|count| Count {
        clicks: -count.clicks,
        ..*count
    }));
    sum_up(counts);
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn additions() -> impl Strategy<Value = Vec<Addition>> {
        let addition = (0..96_u8, 1..5_000_i32, 1..1_000_i64, any::<bool>());
        let addition = addition.prop_map(|(quarter, class, clicks, is_bot)| Addition {
            count: Count {
                quarter,
                class,
                clicks,
            },
            is_bot,
        });
        vec(addition, 0..800)
    }

    /// A day with these clicks, and the quarters that left it.
    fn day(additions: &[Addition]) -> (ClassDay, Vec<Count>) {
        let (mut day, mut left) = (ClassDay::default(), Vec::new());
        for addition in additions {
            day.add(&[*addition]);
            left.extend(parse_quarters(&day.take_ended().unwrap_or_default()).unwrap());
            let newest = day.quarters.last().unwrap().quarter;
            assert!(
                day.quarters[0].quarter == newest
                    || packed_quarters(&day.quarters).len() <= MAX_QUARTERS + 16
            );
        }
        (day, left)
    }

    fn summed(counts: impl IntoIterator<Item = Count>) -> Vec<Count> {
        let mut counts = counts.into_iter().collect();
        sum_up(&mut counts);
        counts
    }

    /// Sums by class.
    fn of_day(additions: &[Addition]) -> Vec<Count> {
        summed(additions.iter().map(|addition| Count {
            quarter: 0,
            ..addition.count
        }))
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
            let by_quarter = summed(additions.iter().map(|addition| addition.count));
            let bots = additions.iter().filter(|addition| addition.is_bot);
            let bots = summed(bots.map(|addition| Count { class: 0, ..addition.count }));
            prop_assert_eq!(day.whole(), of_day(&additions));
            prop_assert_eq!(summed(day.quarters.iter().chain(&left).copied()), by_quarter);
            prop_assert_eq!(day.bots, bots);
        }

        #[test]
        fn a_day_whose_quarters_are_summed_has_the_same_classes_and_bots(additions in additions()) {
            let mut day = day(&additions).0;
            let before = day.clone();
            day.end_all();
            prop_assert_eq!((&day.ended, &day.quarters), (&of_day(&additions), &Vec::new()));
            prop_assert_eq!((day.classes(), &day.bots), (before.classes(), &before.bots));
        }

        #[test]
        fn a_day_without_all_of_its_links_is_empty(additions in additions()) {
            let mut day = day(&additions).0;
            let (first, second) = additions.split_at(additions.len() / 2);
            for part in [first, second] {
                let (gone, left) = self::day(part);
                day.subtract(&gone, Some(&left));
            }
            prop_assert!(day.whole().is_empty() && day.bots.is_empty());
        }
    }

    fn clicks(class: i32, clicks: i64) -> Count {
        Count {
            quarter: 0,
            class,
            clicks,
        }
    }

    #[test]
    fn without_its_quarters_a_deleted_link_leaves_the_whole_day() {
        let mut of_owner = ClassDay {
            ended: vec![clicks(1, 2), clicks(2, 2)],
            ..ClassDay::default()
        };
        let gone = ClassDay {
            ended: vec![clicks(1, 2)],
            ..ClassDay::default()
        };
        of_owner.subtract(&gone, None);
        assert_eq!(of_owner.ended, [clicks(2, 2)]);
    }

    #[test]
    fn an_overdrawn_class_is_made_up_for_by_the_first_class_with_so_many_clicks() {
        let ended = vec![clicks(1, -3), clicks(2, 2), clicks(3, 5), clicks(4, -3)];
        let mut day = ClassDay {
            ended,
            ..ClassDay::default()
        };
        day.make_up(&|_| vec![2, 3]);
        assert_eq!(day.ended, [clicks(2, 2), clicks(3, 2), clicks(4, -3)]);
    }
}
