//! Sums the classes of counted clicks; the part that both databases have in common.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::class_day::{Addition, ClassDay};
use super::class_packing::OfClasses;
use super::details::{MAX_REFERRERS_OF_LINK, MAX_REFERRERS_OF_OWNER, day_of, quarter_of};
use super::rows::signed;
use super::{ClickDetails, DetailedClicks};
use crate::domain::{ClickClass, Dimension, LinkId};

/// Classes of a batch or a part of a flush, as they wait.
pub(super) struct WaitingClasses {
    pub(super) interval: i32,
    pub(super) details: ClickDetails,
}

/// A link, by its id, or all links of an account, by its id below 0.
pub(super) type Whose = i64;

/// Clicks in a quarter of an hour, by their class.
pub(super) type OfClass = (Whose, i32, Arc<ClickClass>);

/// A day, by its first quarter of an hour, and whose it is.
pub(super) type DayOf = (i32, Whose);

/// The days of links or accounts.
pub(super) type Days = BTreeMap<DayOf, ClassDay>;

/// The referrers that links or accounts have on some days.
pub(super) type Referrers = HashMap<DayOf, HashSet<String>>;

/// Classes by their number.
pub(super) type ClassesById = HashMap<i32, Arc<ClickClass>, RandomState>;

/// The numbers of classes.
pub(super) type ClassIds = HashMap<Arc<ClickClass>, i32, RandomState>;

/// Clicks per link or account, quarter of an hour and class.
#[derive(Default)]
pub(super) struct Sums(BTreeMap<(Whose, i32), HashMap<Arc<ClickClass>, u64, RandomState>>);

impl Sums {
    pub(super) fn of(waiting: impl IntoIterator<Item = WaitingClasses>) -> Self {
        let mut sums = Self::default();
        for WaitingClasses { interval, details } in waiting {
            for DetailedClicks {
                link,
                class,
                clicks,
            } in details.of_links()
            {
                sums.add((link.number(), interval, Arc::clone(class)), *clicks);
            }
        }
        sums
    }

    pub(super) fn of_classes(classes: impl IntoIterator<Item = (OfClass, u64)>) -> Self {
        let mut sums = Self::default();
        for (of_class, clicks) in classes {
            sums.add(of_class, clicks);
        }
        sums
    }

    fn add(&mut self, (whose, interval, class): OfClass, clicks: u64) {
        let classes = self.0.entry((whose, interval)).or_default();
        let sum = classes.entry(class).or_default();
        *sum = sum.saturating_add(clicks);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whose they are, each once.
    pub(super) fn whose(&self) -> Vec<Whose> {
        let whose: BTreeSet<_> = self.0.keys().map(|(whose, _)| *whose).collect();
        whose.into_iter().collect()
    }

    pub(super) fn days(&self) -> BTreeSet<DayOf> {
        let day = |(whose, interval): &(Whose, i32)| (day_of(*interval), *whose);
        self.0.keys().map(day).collect()
    }

    /// Leaves out the links without an owner, which are deleted.
    pub(super) fn retain_owned(&mut self, owners: &HashMap<i64, i64>) {
        self.0.retain(|(link, _), _| owners.contains_key(link));
    }

    /// The same over all links of each owner.
    pub(super) fn of_owners(&self, owners: &HashMap<i64, i64>) -> Self {
        let mut sums = Self::default();
        for ((link, interval), classes) in &self.0 {
            if let Some(owner) = owners.get(link) {
                for (class, clicks) in classes {
                    sums.add((-owner, *interval, Arc::clone(class)), *clicks);
                }
            }
        }
        sums
    }

    /// The classes of each day.
    pub(super) fn classes_by_day(&self) -> BTreeMap<DayOf, HashSet<&Arc<ClickClass>>> {
        let mut days = BTreeMap::<_, HashSet<_>>::new();
        for ((whose, interval), classes) in &self.0 {
            let of_day = days.entry((day_of(*interval), *whose)).or_default();
            of_day.extend(classes.keys());
        }
        days
    }

    /// Names only as many referrers on each of these days as there is room for beside the known referrers, to which it adds. `days`
    /// chooses them.
    pub(super) fn bound(
        self,
        referrers: &mut Referrers,
        mut days: impl FnMut(DayOf, &Arc<ClickClass>) -> Vec<DayOf>,
    ) -> Self {
        self.map_classes(|whose, interval, class, _| {
            let referrer = class.value(Dimension::Referrer);
            let Some(referrer) = referrer.filter(|referrer| *referrer != Dimension::OTHER) else {
                return class;
            };
            let mut days = days((day_of(interval), whose), &class).into_iter();
            let has_room = days.all(|day| {
                let max = if day.1 < 0 {
                    MAX_REFERRERS_OF_OWNER
                } else {
                    MAX_REFERRERS_OF_LINK
                };
                referrers
                    .get_mut(&day)
                    .is_none_or(|known| named(known, referrer, max))
            });
            if has_room {
                return class;
            }
            Arc::new(class.with(Dimension::Referrer, Some(Dimension::OTHER)))
        })
    }

    /// Sums by other classes, which are chosen by whose they are, the interval, the class and its clicks. Of an interval, those with
    /// most clicks come first, and so get room first.
    pub(super) fn map_classes(
        self,
        mut chosen: impl FnMut(Whose, i32, Arc<ClickClass>, u64) -> Arc<ClickClass>,
    ) -> Self {
        let mut mapped = Self::default();
        for ((whose, interval), classes) in self.0 {
            let mut classes: Vec<_> = classes.into_iter().collect();
            classes.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
            let sums = mapped.0.entry((whose, interval)).or_default();
            for (class, clicks) in classes {
                *sums
                    .entry(chosen(whose, interval, class, clicks))
                    .or_default() += clicks;
            }
        }
        mapped
    }

    /// The classes, and those that clicks get for whose class there is no room.
    pub(super) fn classes(&self) -> BTreeSet<Arc<ClickClass>> {
        let classes: HashSet<&Arc<ClickClass>, RandomState> =
            self.0.values().flat_map(HashMap::keys).collect();
        let bot_flags: HashSet<ClickClass> =
            classes.iter().map(|class| class.bot_flag_only()).collect();
        let classes = classes.into_iter().cloned();
        classes.chain(bot_flags.into_iter().map(Arc::new)).collect()
    }

    /// What they are to each day; `ids` has the number of each class.
    pub(super) fn additions(&self, ids: &ClassIds) -> Vec<(DayOf, Addition)> {
        let mut additions = Vec::new();
        for ((whose, interval), classes) in &self.0 {
            let day = day_of(*interval);
            for (class, clicks) in classes {
                if let Some(id) = ids.get(class) {
                    let addition = Addition {
                        quarter: quarter_of(*interval),
                        class: *id,
                        clicks: signed(*clicks),
                        is_bot: class.is_bot(),
                    };
                    additions.push(((day, *whose), addition));
                }
            }
        }
        additions
    }

    /// Those of links on these days, by interval, as they travel.
    pub(super) fn details_of(&self, days: &BTreeSet<DayOf>) -> BTreeMap<i32, ClickDetails> {
        self.details(|day| days.contains(day) && day.1 >= 0)
    }

    /// Those of some days, by interval, as they travel. An account is in the place of a link.
    pub(super) fn details(
        &self,
        is_chosen: impl Fn(&DayOf) -> bool,
    ) -> BTreeMap<i32, ClickDetails> {
        let mut by_interval = BTreeMap::<i32, Vec<_>>::new();
        for ((whose, interval), classes) in &self.0 {
            if is_chosen(&(day_of(*interval), *whose))
                && let Some(link) = LinkId::parse(whose.saturating_abs())
            {
                let clicks = classes.iter().map(|(class, clicks)| DetailedClicks {
                    link,
                    class: Arc::clone(class),
                    clicks: *clicks,
                });
                by_interval.entry(*interval).or_default().extend(clicks);
            }
        }
        by_interval
            .into_iter()
            .map(|(interval, clicks)| (interval, ClickDetails::new(clicks)))
            .collect()
    }

    /// Leaves out these days.
    pub(super) fn leave_out(&mut self, days: &BTreeSet<DayOf>) {
        let is_left_out = |whose: Whose, interval| days.contains(&(day_of(interval), whose));
        self.0
            .retain(|(whose, interval), _| !is_left_out(*whose, *interval));
    }

    /// The clicks of each interval by the number of their class.
    pub(super) fn by_id(self, ids: &ClassIds) -> Vec<(Whose, i32, OfClasses)> {
        let sums = self.0.into_iter();
        sums.map(|((whose, interval), classes)| {
            let classes = classes.into_iter();
            let of_id = |(class, clicks)| Some((*ids.get(&class)?, signed(clicks)));
            (whose, interval, classes.filter_map(of_id).collect())
        })
        .collect()
    }
}

/// Whether a referrer is among those that are known, where there may be so many.
fn named(known: &mut HashSet<String>, referrer: &str, max: usize) -> bool {
    if known.contains(referrer) {
        return true;
    }
    known.len() < max && known.insert(referrer.to_owned())
}

/// The values of a class, as the databases keep them: '' is not known.
pub(super) fn columns(class: &ClickClass) -> [String; 6] {
    Dimension::ALL.map(|dimension| class.value(dimension).unwrap_or_default().to_owned())
}

/// A class of the databases.
pub(super) fn class(values: [&str; 6]) -> ClickClass {
    ClickClass::of(values.map(Some))
}

/// Filters by dimension, as both databases take them: NULL lets every value through, '' those that are not known.
pub(super) fn filters(filters: &[(Dimension, Option<String>)]) -> [Option<String>; 6] {
    Dimension::ALL.map(|dimension| {
        let mut of_dimension = filters
            .iter()
            .filter(|(filtered, _)| *filtered == dimension);
        let (_, value) = of_dimension.next_back()?;
        Some(value.clone().unwrap_or_default())
    })
}
