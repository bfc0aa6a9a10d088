//! Sums the classes of counted clicks; the part that both databases have in common.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::class_day::{Addition, ClassDay};
use super::class_packing::{Count, sum_up};
use super::details::{day_of, quarter_of};
use super::rows::signed;
use super::{ClickDetails, DetailedClicks};
use crate::domain::{ClickClass, Dimension, LinkId, UserId};

/// A link, by its id, or all links of an account, by its id below 0.
pub(super) type Whose = i64;

/// A day, by its first quarter of an hour, and whose it is.
pub(super) type DayOf = (i32, Whose);

/// The referrers that links or accounts have on some days.
pub(super) type Referrers = HashMap<DayOf, HashSet<String>>;

/// Classes by their number.
pub(super) type ClassesById = HashMap<i32, Arc<ClickClass>, RandomState>;

/// The numbers of classes.
pub(super) type ClassIds = HashMap<Arc<ClickClass>, i32, RandomState>;

/// Links and their owners, in rising order.
#[derive(Default)]
pub(super) struct Owners(Vec<(i64, i64)>);

impl Owners {
    pub(super) fn new(mut owners: Vec<(i64, i64)>) -> Self {
        owners.sort_unstable();
        Self(owners)
    }

    pub(super) fn of(&self, link: Whose) -> Option<i64> {
        let place = self.0.binary_search_by_key(&link, |(link, _)| *link);
        Some(self.0[place.ok()?].1)
    }
}

/// The days of links or accounts, in rising order.
pub(super) struct Days(Vec<(DayOf, ClassDay)>);

impl Days {
    /// These days, without clicks.
    pub(super) fn new(mut days: Vec<DayOf>) -> Self {
        days.sort_unstable();
        days.dedup();
        let days = days.into_iter();
        Self(days.map(|day| (day, ClassDay::default())).collect())
    }

    pub(super) fn get(&self, day: DayOf) -> Option<&ClassDay> {
        let place = self.0.binary_search_by_key(&day, |(day, _)| *day);
        Some(&self.0[place.ok()?].1)
    }

    pub(super) fn get_mut(&mut self, day: DayOf) -> Option<&mut ClassDay> {
        let place = self.0.binary_search_by_key(&day, |(day, _)| *day);
        Some(&mut self.0[place.ok()?].1)
    }

    pub(super) fn set(&mut self, day: DayOf, classes: ClassDay) {
        if let Some(place) = self.get_mut(day) {
            *place = classes;
        }
    }

    pub(super) fn keys(&self) -> Vec<DayOf> {
        self.0.iter().map(|(day, _)| *day).collect()
    }

    pub(super) fn all_mut(&mut self) -> &mut [(DayOf, ClassDay)] {
        &mut self.0
    }

    pub(super) fn into_all(self) -> Vec<(DayOf, ClassDay)> {
        self.0
    }
}

/// Clicks of a class in a quarter of an hour.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Sum {
    pub(super) whose: Whose,
    pub(super) interval: i32,
    pub(super) class: Arc<ClickClass>,
    pub(super) clicks: u64,
}

impl Sum {
    pub(super) fn day(&self) -> DayOf {
        (day_of(self.interval), self.whose)
    }
}

/// Clicks in their order, each link or account, quarter of an hour and class once.
#[derive(Default)]
pub(super) struct Sums(Vec<Sum>);

impl Sums {
    pub(super) fn new(mut sums: Vec<Sum>) -> Self {
        sort(&mut sums, Sum::cmp);
        sums.dedup_by(|next, sum| {
            let is_same =
                (next.whose, next.interval) == (sum.whose, sum.interval) && next.class == sum.class;
            if is_same {
                sum.clicks = sum.clicks.saturating_add(next.clicks);
            }
            is_same
        });
        Self(sums)
    }

    /// Classes as they wait: those of intervals.
    pub(super) fn of(waiting: &[(i32, ClickDetails)]) -> Self {
        let mut sums = Vec::new();
        for (interval, details) in waiting {
            sums.extend(details.of_links().iter().map(|part| Sum {
                whose: part.link.number(),
                interval: *interval,
                class: Arc::clone(&part.class),
                clicks: part.clicks,
            }));
        }
        Self::new(sums)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whose they are, each once.
    pub(super) fn whose(&self) -> Vec<Whose> {
        let mut whose: Vec<_> = self.0.iter().map(|sum| sum.whose).collect();
        whose.dedup();
        whose
    }

    /// Their days, without clicks.
    pub(super) fn days(&self) -> Days {
        Days::new(self.0.iter().map(Sum::day).collect())
    }

    /// The sums of each day.
    pub(super) fn by_day(&self) -> impl Iterator<Item = &[Sum]> {
        self.0.chunk_by(|one, other| one.day() == other.day())
    }

    /// Leaves out the links without an owner, which are deleted.
    pub(super) fn retain_owned(&mut self, owners: &Owners) {
        self.0.retain(|sum| owners.of(sum.whose).is_some());
    }

    /// The same over all links of each owner that is there.
    pub(super) fn of_owners(&self, owners: &Owners) -> Self {
        let of_owner = |sum: &Sum| {
            let owner = owners.of(sum.whose)?;
            (owner != UserId::NOBODY.0).then(|| Sum {
                whose: -owner,
                ..sum.clone()
            })
        };
        Self::new(self.0.iter().filter_map(of_owner).collect())
    }

    /// Sums by other classes, which are chosen for each sum. Of an interval, those with most clicks come first, and so get room first.
    pub(super) fn map_classes(
        mut self,
        chosen: &mut dyn FnMut(&Sum) -> Option<Arc<ClickClass>>,
    ) -> Self {
        sort(&mut self.0, |one, other| {
            let place = |sum: &Sum| (sum.whose, sum.interval);
            let by_place = place(one).cmp(&place(other));
            by_place
                .then(other.clicks.cmp(&one.clicks))
                .then_with(|| one.class.cmp(&other.class))
        });
        for sum in &mut self.0 {
            if let Some(class) = chosen(sum) {
                sum.class = class;
            }
        }
        Self::new(self.0)
    }

    /// The classes, and the classes that clicks get for whose class there is no room; in rising order.
    pub(super) fn classes(&self) -> Vec<Arc<ClickClass>> {
        let classes = self.0.iter().map(|sum| Arc::clone(&sum.class)).collect();
        let mut classes = set(classes);
        let bot_flags: Vec<_> = classes.iter().map(|class| class.bot_flag_only()).collect();
        classes.extend(bot_flags.into_iter().map(Arc::new));
        set(classes)
    }

    /// What sums of a day add to it; `ids` has the number of each class.
    pub(super) fn additions(of_day: &[Sum], ids: &ClassIds) -> Vec<Addition> {
        let addition = |sum: &Sum| {
            let count = Count {
                quarter: quarter_of(sum.interval),
                class: *ids.get(&sum.class)?,
                clicks: signed(sum.clicks),
            };
            let is_bot = sum.class.is_bot();
            Some(Addition { count, is_bot })
        };
        of_day.iter().filter_map(addition).collect()
    }

    /// The same as they travel, by interval. An account is in the place of a link.
    pub(super) fn details(&self) -> Vec<(i32, ClickDetails)> {
        let mut intervals: Vec<_> = self.0.iter().map(|sum| sum.interval).collect();
        intervals.sort_unstable();
        intervals.dedup();
        let details = |interval| {
            let sums = self.0.iter().filter(|sum| sum.interval == interval);
            let clicks = sums.filter_map(|sum| {
                Some(DetailedClicks {
                    link: LinkId::parse(sum.whose.saturating_abs())?,
                    class: Arc::clone(&sum.class),
                    clicks: sum.clicks,
                })
            });
            (interval, ClickDetails::new(clicks.collect()))
        };
        intervals.into_iter().map(details).collect()
    }

    /// Takes out the sums of some days, which are in rising order.
    pub(super) fn take_out(&mut self, days: &[DayOf]) -> Self {
        let is_taken = |sum: &mut Sum| days.binary_search(&sum.day()).is_ok();
        Self(self.0.extract_if(.., is_taken).collect())
    }

    /// The clicks of each interval by the number of their class.
    pub(super) fn by_id(&self, ids: &ClassIds) -> Vec<(Whose, i32, Vec<Count>)> {
        let intervals = self
            .0
            .chunk_by(|one, other| (one.whose, one.interval) == (other.whose, other.interval));
        let by_id = |sums: &[Sum]| {
            let count = |sum: &Sum| {
                Some(Count {
                    quarter: 0,
                    class: *ids.get(&sum.class)?,
                    clicks: signed(sum.clicks),
                })
            };
            let mut counts = sums.iter().filter_map(count).collect();
            sum_up(&mut counts);
            (sums[0].whose, sums[0].interval, counts)
        };
        intervals.map(by_id).collect()
    }
}

/// Not generic, so it is compiled only once.
fn sort(sums: &mut [Sum], by: fn(&Sum, &Sum) -> std::cmp::Ordering) {
    sums.sort_by(by);
}

/// Classes in rising order, each once.
pub(super) fn set(mut classes: Vec<Arc<ClickClass>>) -> Vec<Arc<ClickClass>> {
    classes.sort_unstable();
    classes.dedup();
    classes
}

/// The values of a class, as the databases keep them: '' is not known.
pub(super) fn columns(class: &ClickClass) -> [String; Dimension::COUNT] {
    Dimension::ALL.map(|dimension| class.value(dimension).unwrap_or_default().to_owned())
}

/// A row of `click_classes`: the number of a class, and its values.
pub(super) type ClassRow = (
    i32,
    String,
    String,
    String,
    String,
    String,
    String,
    String,
    String,
);

/// The class of a row, with its number.
pub(super) fn numbered(row: ClassRow) -> (i32, Arc<ClickClass>) {
    let (id, referrer, country, browser, os, device, rule, code, bot) = row;
    let values = [referrer, country, browser, os, device, rule, code, bot];
    (
        id,
        Arc::new(ClickClass::of(
            values.each_ref().map(|value| Some(value.as_str())),
        )),
    )
}

/// Filters by dimension, as both databases take them: NULL lets every value through, '' those that are not known.
pub(super) fn filters(
    filters: &[(Dimension, Option<String>)],
) -> [Option<String>; Dimension::COUNT] {
    Dimension::ALL.map(|dimension| {
        let mut of_dimension = filters
            .iter()
            .filter(|(filtered, _)| *filtered == dimension);
        let (_, value) = of_dimension.next_back()?;
        Some(value.clone().unwrap_or_default())
    })
}
